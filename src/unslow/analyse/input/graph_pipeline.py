"""Pipelines whose model nobody can ask, as those in a session's graph: a window of the profiler speaks for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unslow.analyse.input.overlay import NOT_RUN, aligned
from unslow.analyse.input.profile_iterators import above
from unslow.model import Event, Loop, Run

_ADDED = (
    "Prefetch",
    "MaxIntraOpParallelism",
    "PrivateThreadPool",
)  # stages that TensorFlow puts in by itself
_TOLD = 0.5  # of a wait: stages that do not account for so much of it do not say which of them it is for

_Built = Sequence[Mapping[str, Any]]
_Nodes = Mapping[int, Mapping[str, Any]]


def readings(run: Run) -> Iterable[Event]:
    """What such iterators would have said of themselves at the start and the end of a loop.

    In a graph, without autotuning (as Keras sets it for a PyDataset with workers) and before TensorFlow 2.17 an
    iterator has no model. A window shows a few steps: all that it counted is taken for as many batches as the loop had.
    """
    blind = {event.process for event in run.of("no_pipeline")} - {
        event.process for event in run.of("pipeline")
    }
    built = {
        (event.process, int(event.data["dataset"])): event.data["stages"]
        for event in run.of("dataset")
    }
    known: dict[int, dict[int, _Built]] = defaultdict(dict)
    for event in run.of("iterator"):
        key = (event.process, int(event.data["dataset"]))
        if (
            (event.data.get("graph") or event.process in blind)
            and not event.data["evaluates"]
            and key in built
        ):
            known[event.process][key[1]] = built[key]
    number = 0
    for loop in run.loops:
        inside = loop.style == "session" or (loop.style == "keras" and loop.process in blind)
        for window in _windows(run, loop)[-1:] if inside else ():
            for pipe in window.data["pipes"]:
                number -= 1  # no iterator that was asked has such a number
                yield from _said(loop, window, pipe, known[loop.process], number)


def _windows(run: Run, loop: Loop) -> list[Event]:
    """Those that saw whole steps of a loop."""
    seen = [event for event in run.of("window") if loop.holds(event)]
    return [
        one
        for one in seen
        if one.data.get("steps") and one.data.get("whole", True) and "pipes" in one.data
    ]


def _said(
    loop: Loop, window: Event, pipe: Mapping[str, Any], known: Mapping[int, _Built], iterator: int
) -> Iterable[Event]:
    steps, gets = int(window.data["steps"]), int(pipe["gets"])
    batches = round(loop.steps * gets / steps)
    if batches < 1 or _fills_cache(pipe):
        return
    nodes = _nodes(pipe)
    dataset = _whose(nodes, known) if _accounts(nodes, float(pipe["wait"]) / gets) else 0
    before = max(
        0, loop.step_at(window.time) - steps
    )  # a cache that is read in the window was full by then
    cached = any(node["name"].endswith("Cache") for node in nodes.values())
    data = {
        "iterator": iterator,
        "dataset": dataset,
        "evaluates": False,
        "wait": pipe["wait"],
        "over": gets,
        "fetches": 0,
        "fetch": 0.0,
        "cpu_budget": pipe["cores"],
        "ram_budget": pipe["memory"],
        "settled": True,
        "length": before * gets // steps if cached else batches,
    }
    told = _scaled(nodes, known[dataset], float(pipe["bytes"]), batches) if dataset else []
    yield Event(
        "pipeline", loop.start, loop.process, {**data, "step": 0, "elements": 0, "nodes": []}
    )
    yield Event(
        "pipeline",
        loop.stop,
        loop.process,
        {**data, "step": loop.steps, "elements": batches, "nodes": told},
    )


def _fills_cache(pipe: Mapping[str, Any]) -> bool:
    """Whether what stands below a cache is at work: such a pass is not like those that follow it."""
    parts = [place.split("/") for place, stage in pipe["stages"].items() if stage["count"]]
    return any("Cache" not in part[-1] and any("Cache" in one for one in part) for part in parts)


# Stages as nodes of tf.data's own model; seconds and elements per batch


def _nodes(pipe: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    stages: Mapping[str, Mapping[str, Any]] = pipe["stages"]
    places = sorted({place for one in stages for place in _way(one)})
    numbers = {place: number for number, place in enumerate(places, 1)}
    return {
        number: {
            "id": number,
            "inputs": _inputs(place, numbers),
            **_node(place, stages.get(place, {}), pipe["gets"]),
        }
        for place, number in numbers.items()
    }


def _way(place: str) -> Iterable[str]:
    """A place and all those above it: a stage that was under way through all of the window was not seen itself."""
    while place:
        yield place
        place = above(place)


def _inputs(place: str, numbers: Mapping[str, int]) -> list[int]:
    """What stands right below, in the order of the program; 0 for an input that was not seen."""
    below = {
        other[len(place) :].rpartition("/")[0]: number
        for other, number in numbers.items()
        if above(other) == place
    }
    inner = (
        [below.pop("[]")] if "[]" in below else []
    )  # made per element, beside what the elements come from
    plain = below.pop("", 0)
    counted = {int(index[1:-1]): number for index, number in below.items()}
    if counted:
        return [counted.get(position, 0) for position in range(max(counted) + 1)]
    return [plain, *inner] if plain or inner else []


def _node(place: str, stage: Mapping[str, Any], gets: int) -> dict[str, Any]:
    name = place.rpartition("/")[2]
    asynchronous = name == "Prefetch" or name.startswith(("MapAndBatch", "Parallel"))
    count = int(stage.get("count", 0))
    elements = (
        1.0 if abs(count - gets) <= 1 else count / gets
    )  # one may have been under way at either end
    own = max(0.0, float(stage["own"])) / count if count and not asynchronous else 0.0
    return {
        "name": name,
        "asynchronous": asynchronous,
        "elements": elements,
        "ratio": elements,
        "busy": own * elements + float(stage.get("work", 0.0)) / gets,
        "took": own * elements + float(stage.get("took", 0.0)) / gets,
        "parallelism": max(1, int(stage.get("parallelism", 1))),
        "parallelism_tuned": stage.get("tuned", False),
        "buffered": stage.get("buffered", 0),
        "buffered_bytes": stage.get("buffered_bytes", 0),
        "produced": 0,
    }


def _accounts(nodes: _Nodes, wait: float) -> bool:
    """Whether the stages were seen at the work that is waited for."""
    return sum(float(node["took"]) for node in nodes.values()) >= _TOLD * wait


# The program's own stages


def _whose(nodes: _Nodes, known: Mapping[int, _Built]) -> int:
    """The number of the pipeline that these stages are; 0 where there is none, or two at different lines would do."""
    found = []
    for dataset, built in known.items():
        matches = _matches(nodes, built)
        strange = sum(not positions and node["name"] not in _ADDED for node, positions in matches)
        used = {position for _, positions in matches for position in positions}
        passed = set(range(max(used, default=0))) - used
        dropped = sum(built[position]["kind"] not in NOT_RUN for position in passed)
        lines = str(
            [[built[position]["stack"][:1] for position in positions] for _, positions in matches]
        )
        found.append((strange + dropped, dataset, lines))
    best = [one for one in sorted(found) if one[0] == min(found)[0]]
    return best[0][1] if len({lines for _, _, lines in best}) == 1 else 0


def _matches(nodes: _Nodes, built: _Built) -> list[tuple[Mapping[str, Any], list[int]]]:
    top = next(
        (
            int(node["inputs"][0])
            for node in nodes.values()
            if node["name"] == "Root" and node["inputs"]
        ),
        0,
    )
    return [
        (node, positions) for node, positions, _ in aligned(nodes, top, built, 0 if built else None)
    ]


def _scaled(nodes: _Nodes, built: _Built, size: float, batches: int) -> list[Mapping[str, Any]]:
    """The nodes with all that they did in the loop.

    A batch is made of what the last function gave, and that tells its bytes; below it nothing is known of them.
    """
    produced: dict[int, float] = {}
    for node, positions in _matches(nodes, built):
        produced[int(node["id"])] = size * batches
        if any("function" in built[position] for position in positions):
            break
    return [
        {
            **node,
            "busy": float(node["busy"]) * batches * 1e9,
            "elements": float(node["elements"]) * batches,
            "produced": produced.get(number, 0.0),
        }
        for number, node in nodes.items()
    ]
