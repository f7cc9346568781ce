"""The remaining time of a training, where its epochs, loops and datasets determine it."""

from __future__ import annotations

from unslow.analyse.stats.growth import levels_off
from unslow.analyse.stats.trend import LEAST
from unslow.facts.data import UNKNOWN_LENGTH, Dataset, IteratorMade
from unslow.facts.keras import Epoch, Fit
from unslow.live.follow import Followed
from unslow.live.loop_length import epochs_of, steps_of
from unslow.model import Loop, Shape
from unslow.report.words import Row

_ENOUGH = 5  # steps before their speed is used for a forecast (judgement)


def remaining(process: Followed, loop: Loop, pace: float) -> Row | None:
    """What is done, what there is to do, and the seconds that the rest takes at the recent pace.

    `left_growing` is what it takes if the steps go on growing as they do; None where they do not.
    """
    if process.how:
        return None
    found = _of_fit(process, loop) if loop.style == "keras" else _of_loop(process, loop, pace)
    if found is None:
        return None
    each = loop.steps / found["done"]  # steps of an epoch
    added = _added_by_growth(loop, (found["of"] - found["done"]) * each)
    return {**found, "left_growing": found["left"] + added if added else None}


def _added_by_growth(loop: Loop, steps: float) -> float:
    """Seconds that further steps take longer than at the recent pace."""
    if loop.trend.shape is not Shape.DRIFTING or loop.trend.slope_low <= 0:
        return 0.0
    if levels_off(loop.seconds[1:], loop.number[1:], LEAST):  # it grew once, and has settled
        return 0.0
    return loop.trend.slope * steps * steps / 2


def _of_fit(process: Followed, loop: Loop) -> Row | None:
    """Nothing before the first epoch has ended, nor for a fit that is called repeatedly."""
    fits = process.facts(Fit)
    if not fits or fits[-1].n > 1:
        return None
    epochs = [one for one in process.facts(Epoch) if one.time > fits[-1].time]
    wanted = _epochs_wanted(process, fits[-1])
    last = epochs[-1].epoch if epochs else None
    if not isinstance(wanted, int) or not isinstance(last, int):
        return None
    done = last + 1
    if done >= wanted:  # finished, or the number could not be seen
        return None
    since = process.last / 1e9 - epochs[-1].time
    left = (wanted - done) * _epoch_seconds(loop, process.began / 1e9, epochs) - since
    return {"what": "epoch", "done": done, "of": wanted, "left": max(0.0, left)}


def _epochs_wanted(process: Followed, fit: Fit) -> int | str | None:
    """The epochs by name, or by position: Keras's default of 1 may hide the latter."""
    if fit.epochs != 1 or not fit.stack:
        return fit.epochs
    source = process.source(fit.stack[0].file)
    return (epochs_of(source, fit.stack[0].line) if source else None) or fit.epochs


def _epoch_seconds(loop: Loop, start: float, epochs: list[Epoch]) -> float:
    """The last epoch; of the first one, without its first step, which pays for tracing."""
    last = epochs[-1]
    if len(epochs) == 1:
        return max(0.0, last.time - start - float(loop.end[0]))
    numbers = [one.epoch for one in epochs[-2:] if isinstance(one.epoch, int)]
    further = max(1, numbers[-1] - numbers[0])
    return (last.time - epochs[-2].time) / further


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
    known = {one.dataset: one.stages[0].length for one in process.facts(Dataset) if one.stages}
    found: dict[int, int] = {}
    for made in process.facts(IteratorMade):
        length = known.get(made.dataset, UNKNOWN_LENGTH)
        if made.stack and made.stack[0].file == file and length > 0:
            found[made.stack[0].line] = length
    return found
