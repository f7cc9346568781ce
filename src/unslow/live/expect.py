"""When a training will be through, where its epochs, its loops and its datasets say so; else nothing."""

from __future__ import annotations

from typing import Any

from unslow.facts.codec import Context
from unslow.facts.data import UNKNOWN_LENGTH, Dataset, IteratorMade
from unslow.facts.table import FactTable
from unslow.live.follow import Followed
from unslow.live.turns import epochs_of, steps_of
from unslow.model import Loop

_ENOUGH = 5  # steps after which their pace is told


def expected_end(process: Followed, loop: Loop, pace: float) -> dict[str, Any] | None:
    """What is done, what there is to do, and the seconds that the rest takes if it goes on as it did of late."""
    if process.how:
        return None
    return (
        _end_of_fit(process, loop) if loop.style == "keras" else _end_of_loop(process, loop, pace)
    )


def _end_of_fit(process: Followed, loop: Loop) -> dict[str, Any] | None:
    """Nothing is said before the first epoch has ended, nor of a fit that is called again and again."""
    fits = [line for line in process.lines if line["k"] == "fit"]
    if not fits or int(fits[-1].get("n", 1)) > 1:
        return None
    fit, began = fits[-1], int(fits[-1]["t"])
    wanted = fit.get("epochs")
    if wanted == 1 and fit.get("stack"):  # not given by name: perhaps by its place
        file, line = fit["stack"][0][:2]
        source = process.source(file)
        wanted = (epochs_of(source, int(line)) if source else None) or wanted
    epochs = [line for line in process.lines if line["k"] == "epoch" and int(line["t"]) > began]
    if not epochs or not isinstance(wanted, int) or not isinstance(epochs[-1].get("epoch"), int):
        return None
    done = epochs[-1]["epoch"] + 1
    if done >= wanted:  # through, or the number could not be seen
        return None
    each = _seconds_of_one(loop, process.began, epochs)
    since = (process.last - int(epochs[-1]["t"])) / 1e9
    return {
        "what": "epoch",
        "done": done,
        "of": wanted,
        "left": max(0.0, (wanted - done) * each - since),
    }


def _seconds_of_one(loop: Loop, start: int, epochs: list[dict[str, Any]]) -> float:
    """What the last epoch took; of the first one, without its first step, which pays for tracing."""
    end = int(epochs[-1]["t"])
    if len(epochs) > 1:
        further = max(1, int(epochs[-1]["epoch"]) - int(epochs[-2]["epoch"]))
        return (end - int(epochs[-2]["t"])) / 1e9 / further
    return max(0.0, (end - start) / 1e9 - float(loop.end[0]))


def _end_of_loop(process: Followed, loop: Loop, pace: float) -> dict[str, Any] | None:
    """A loop of the user's own, whose source tells its turns, or the dataset that it runs over."""
    name = loop.location.file
    file = next((each for each in _files(process) if each == name or each.endswith(f"/{name}")), "")
    source = process.source(file) if file else None
    if source is None or loop.steps < _ENOUGH or pace <= 0:
        return None
    wanted = steps_of(source, loop.location.line, _lengths(process, file))
    if wanted is None or loop.steps >= wanted:
        return None
    return {"what": "step", "done": loop.steps, "of": wanted, "left": (wanted - loop.steps) * pace}


def _files(process: Followed) -> list[str]:
    return [str(line.get("file", "")) for line in process.lines if line["k"] == "source"]


def _lengths(process: Followed, file: str) -> dict[int, int]:
    """The elements of a dataset, where they are known, by the line of this file that runs over it."""
    context = Context(process=0, start=0, shown=str)
    facts = FactTable((line, context) for line in process.lines)
    known = {one.dataset: one.stages[0].length for one in facts.of(Dataset) if one.stages}
    found: dict[int, int] = {}
    for made in facts.of(IteratorMade):
        length = known.get(made.dataset, UNKNOWN_LENGTH)
        if made.stack and made.stack[0].file == file and length > 0:
            found[made.stack[0].line] = length
    return found
