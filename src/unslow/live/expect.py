"""When Keras's fit will be through, where its epochs say so; any other loop does not tell how long it is."""

from __future__ import annotations

from typing import Any

from unslow.live.follow import Followed
from unslow.model import Loop


def expected_end(process: Followed, loop: Loop) -> dict[str, Any] | None:
    """Epochs done and to do, and the seconds that the rest takes if epochs go on as the last one did.

    Nothing is said before the first epoch has ended, nor of a fit that is called again and again.
    """
    if loop.style != "keras" or process.how:
        return None
    fits = [line for line in process.lines if line["k"] == "fit"]
    if not fits or int(fits[-1].get("n", 1)) > 1:
        return None
    fit, began = fits[-1], int(fits[-1]["t"])
    wanted = fit.get("epochs")
    epochs = [line for line in process.lines if line["k"] == "epoch" and int(line["t"]) > began]
    if not epochs or not isinstance(wanted, int) or not isinstance(epochs[-1].get("epoch"), int):
        return None
    done = epochs[-1]["epoch"] + 1
    if done >= wanted:  # through, or the number was not given by name and could not be seen
        return None
    each = _seconds_of_one(loop, process.began, epochs)
    since = (process.last - int(epochs[-1]["t"])) / 1e9
    return {"done": done, "epochs": wanted, "left": max(0.0, (wanted - done) * each - since)}


def _seconds_of_one(loop: Loop, start: int, epochs: list[dict[str, Any]]) -> float:
    """What the last epoch took; of the first one, without its first step, which pays for tracing."""
    end = int(epochs[-1]["t"])
    if len(epochs) > 1:
        further = max(1, int(epochs[-1]["epoch"]) - int(epochs[-2]["epoch"]))
        return (end - int(epochs[-2]["t"])) / 1e9 / further
    return max(0.0, (end - start) / 1e9 - float(loop.end[0]))
