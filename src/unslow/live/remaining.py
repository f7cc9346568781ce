"""The remaining time of a training, where its epochs, loops and datasets determine it."""

from __future__ import annotations

from unslow.facts.codec import Context
from unslow.facts.data import UNKNOWN_LENGTH, Dataset, IteratorMade
from unslow.facts.table import FactTable
from unslow.live.follow import Followed
from unslow.live.loop_length import epochs_of, steps_of
from unslow.model import Loop
from unslow.report.words import Row

_ENOUGH = 5  # steps before their speed is used for a forecast (judgement)


def remaining(process: Followed, loop: Loop, pace: float) -> Row | None:
    """What is done, what there is to do, and the seconds that the rest takes at the recent pace."""
    if process.how:
        return None
    if loop.style == "keras":
        return _of_fit(process, loop)
    return _of_loop(process, loop, pace)


def _of_fit(process: Followed, loop: Loop) -> Row | None:
    """Nothing before the first epoch has ended, nor for a fit that is called repeatedly."""
    fits = process.of("fit")
    if not fits or int(fits[-1].get("n", 1)) > 1:
        return None
    fit = fits[-1]
    epochs = [line for line in process.of("epoch") if int(line["t"]) > int(fit["t"])]
    wanted = _epochs_wanted(process, fit)
    last = epochs[-1].get("epoch") if epochs else None
    if not isinstance(wanted, int) or not isinstance(last, int):
        return None
    done = last + 1
    if done >= wanted:  # finished, or the number could not be seen
        return None
    since = (process.last - int(epochs[-1]["t"])) / 1e9
    left = (wanted - done) * _epoch_seconds(loop, process.began, epochs) - since
    return {"what": "epoch", "done": done, "of": wanted, "left": max(0.0, left)}


def _epochs_wanted(process: Followed, fit: Row) -> object:
    """The epochs by name, or by position: Keras's default of 1 may hide the latter."""
    wanted = fit.get("epochs")
    if wanted != 1 or not fit.get("stack"):
        return wanted
    file, line = fit["stack"][0][:2]
    source = process.source(file)
    return (epochs_of(source, int(line)) if source else None) or wanted


def _epoch_seconds(loop: Loop, start: int, epochs: list[Row]) -> float:
    """The last epoch; of the first one, without its first step, which pays for tracing."""
    end = int(epochs[-1]["t"])
    if len(epochs) == 1:
        return max(0.0, (end - start) / 1e9 - float(loop.end[0]))
    further = max(1, int(epochs[-1]["epoch"]) - int(epochs[-2]["epoch"]))
    return (end - int(epochs[-2]["t"])) / 1e9 / further


def _of_loop(process: Followed, loop: Loop, pace: float) -> Row | None:
    """A loop of the user's own, by its source or by the dataset that it iterates over."""
    file = _recorded_name(process, loop.location.file)
    source = process.source(file) if file else None
    if source is None or loop.steps < _ENOUGH or pace <= 0:
        return None
    wanted = steps_of(source, loop.location.line, _dataset_lengths(process, file))
    if wanted is None or loop.steps >= wanted:
        return None
    return {"what": "step", "done": loop.steps, "of": wanted, "left": (wanted - loop.steps) * pace}


def _recorded_name(process: Followed, shown: str) -> str:
    """The absolute path of a file that is shown relative to the working directory."""
    files = [str(line.get("file", "")) for line in process.of("source")]
    return next((each for each in files if each == shown or each.endswith(f"/{shown}")), "")


def _dataset_lengths(process: Followed, file: str) -> dict[int, int]:
    """The elements of datasets, where they are known, by the line of this file that iterates."""
    context = Context(process=0, start=0, shown=str)
    facts = FactTable((line, context) for line in process.lines)
    known = {one.dataset: one.stages[0].length for one in facts.of(Dataset) if one.stages}
    found: dict[int, int] = {}
    for made in facts.of(IteratorMade):
        length = known.get(made.dataset, UNKNOWN_LENGTH)
        if made.stack and made.stack[0].file == file and length > 0:
            found[made.stack[0].line] = length
    return found
