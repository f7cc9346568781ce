"""Keeps what was measured, and says it in the words of docs/attached.md."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")
MILLI = 1e3


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def store(stage: str, found: Any) -> None:
    RESULTS.write_text(json.dumps({**read(), stage: found}, indent=1) + "\n")


def section() -> str:
    """What attaching costs, for the page."""
    found = read()
    parts: list[str] = []
    if "rounds" in found:
        parts += _rounds(found["rounds"])
    if "after" in found:
        parts += _after(found["after"])
    if "pythons" in found:
        parts += _pythons(found["pythons"])
    return "\n".join(parts) + "\n"


def _rounds(found: dict[str, Any]) -> Iterator[str]:
    rounds, memory = found["rounds"], [held / 1e6 for held in found["memory"]]
    usual = MILLI * statistics.median(one["usual"] for one in rounds)
    yield "## What attaching costs"
    yield ""
    yield (
        f"{len(rounds)} rounds of attaching and detaching on one training with steps of {usual:.2g} ms, which "
        "noted the end of every step itself (`python -m bench.attach`). Its processor was shared with other programs, "
        f"which held it up for {_median_and_most(rounds, 'usual_longest')} where nobody attached."
    )
    yield ""
    yield "| | longest step, median (most) | training time lost, median (most) | said by `unslow attach`, most |"
    yield "|---|---|---|---|"
    for name in ("attach", "detach"):
        longest = _median_and_most(rounds, f"longest_{name}")
        lost = _median_and_most(rounds, f"lost_{name}")
        said = MILLI * max(one[f"said_{name}"] for one in rounds)
        yield f"| {name} | {longest} | {lost} | {said:.0f} ms |"
    yield ""
    same = "the same" if found["same"] else "NOT the same"
    shown = ", ".join(
        f"{memory[at - 1]:.0f}" for at in (1, 10, 20, 30, 40, 50) if at <= len(memory)
    )
    stolen = sum(one.get("stolen", 0.0) for one in rounds)
    collected = [MILLI * one["collecting"] for one in rounds if one["collecting"]]
    yield (
        "Full collections of Python's garbage that the training's own thread made are not counted: "
        f"there were {len(collected)}, of up to {max(collected, default=0):.0f} ms. Nor is the time "
        f"in which a hypervisor had given its processors to others: {stolen:.1f} s in all."
    )
    yield ""
    yield (
        f"After {found['steps']:,} steps its weights and its count of steps were {same} as those of a training that "
        f"nobody attached to. Its resident memory after rounds 1, 10, 20, 30, 40 and 50: {shown} MB."
    )
    yield ""


def _median_and_most(rounds: Sequence[dict[str, float]], name: str) -> str:
    values = [MILLI * one[name] for one in rounds]
    return f"{statistics.median(values):.0f} ms ({max(values):.0f} ms)"


def _after(found: dict[str, Any]) -> Iterator[str]:
    yield (
        "A step after detaching (three rounds), beside the same training in a process that was never attached to: "
        "processor time of all threads, in blocks of 0.05 s by turns on one processor, before attaching and after. "
        "Each process counts with the lower quartile of its blocks: what else the machine does only adds to them. "
        "Two processes that do the same differ a little; what changed between them is what attaching left behind, "
        "or noise: the last column has the same from pairs of which neither was attached to."
    )
    yield ""
    yield "| loop | a bare step | change, median of the pairs (each) | each without attaching |"
    yield "|---|---|---|---|"
    for style, one in found.items():
        changes = changes_of(one)
        each = ", ".join(f"{change - 1:+.1%}" for change in changes)
        step = MILLI * statistics.median(
            lower_quartile(pair["after"]["bare"]) for pair in one["pairs"]
        )
        controls = ", ".join(f"{change - 1:+.1%}" for change in changes_from_nothing(one))
        yield (
            f"| {style} | {step:.2f} ms | {statistics.median(changes) - 1:+.1%} ({each}) | "
            f"{controls} |"
        )
    yield ""


Blocks = dict[str, list[float]]


def changes_of(found: dict[str, Any]) -> list[float]:
    """By how much steps take longer than before attaching, for each pair of processes."""
    return _changes(found["pairs"])


def changes_from_nothing(found: dict[str, Any]) -> list[float]:
    """The same for pairs of which neither was attached to."""
    return _changes(found["controls"])


def _changes(pairs: Sequence[dict[str, Blocks]]) -> list[float]:
    return [_ratio(pair["after"]) / _ratio(pair["before"]) for pair in pairs]


def _ratio(blocks: Blocks) -> float:
    return lower_quartile(blocks["left"]) / lower_quartile(blocks["bare"])


def lower_quartile(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=4)[0]


def _pythons(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "## Loops that were attached to while they ran"
    yield ""
    yield (
        "By `make attach-pythons`, without unslow in the environment of the process. Each loop ended with the weights and "
        "the count of a run that nobody attached to, bit by bit, and every attribute of TensorFlow and Keras was what it "
        "had been."
    )
    yield ""
    yield "| Python | TensorFlow | by | loops | held up by our work at most |"
    yield "|---|---|---|---|---|"
    for one in found:
        held = max(loop["held"] for loop in one["loops"])
        names = ", ".join(loop["style"].replace("_", " ") for loop in one["loops"])
        ways = ", ".join(sorted({loop["way"] for loop in one["loops"] if "way" in loop}))
        yield f"| {one['python']} | {one['tensorflow']} | {ways or 'not noted'} | {names} | {held} ms |"
    yield ""
