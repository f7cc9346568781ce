"""Pipelines as they ran: the stages of tf.data's own model, laid over the lines that built them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unslow.analyse import wording as say
from unslow.analyse.input.graph_pipeline import readings as said_in_graphs
from unslow.analyse.input.model_readings import counted, latest, paths, root
from unslow.analyse.input.overlay import NOT_RUN, aligned, base
from unslow.model import Event, Location, Run

_ENDLESS = -1  # tf.data's own word for the length of a pipeline


@dataclass(frozen=True)
class Stage:
    """One stage. Times are seconds per batch that the pipeline hands out, added up over its threads."""

    name: str  # as TensorFlow runs it: "MapAndBatch"
    location: (
        Location | None
    )  # the user's line that made it; None for what TensorFlow put in by itself
    busy: float
    elements: float  # per batch
    parallelism: float  # 1 for a stage without threads of its own
    tuned: bool
    asynchronous: bool
    buffered: float  # elements in its buffer when it was last looked at
    buffered_bytes: float
    bytes: float  # of one of its elements
    settings: Mapping[str, Any] = field(
        default_factory=dict
    )  # as the program built it; see docs/facts.md, `dataset`
    stack: tuple[Location, ...] = ()

    @property
    def injected(self) -> bool:
        return self.location is None

    @property
    def seen(self) -> bool:
        """Whether it handed out anything while somebody looked."""
        return self.elements > 0

    @property
    def kind(self) -> str:
        """The transformation that the program asked for: "Map" for one that runs as "MapAndBatch"."""
        return base(str(self.settings.get("kind") or self.name))

    @property
    def items(self) -> float:
        """Elements per batch that its function handles: a map that was fused with a batch counts its own."""
        return self.elements * (
            float(self.settings.get("batch_size", 1)) if self.name == "MapAndBatch" else 1.0
        )

    @property
    def item_bytes(self) -> float:
        size = self.bytes * self.elements / self.items if self.items else 0.0
        return max(size, float(self.settings.get("bytes", 0)))

    @property
    def seconds(self) -> float:
        """Seconds per batch with its threads at work together."""
        return self.busy / max(1.0, self.parallelism)


@dataclass(frozen=True)
class Pipeline:
    """One pipeline of a run: all iterators over the same stages, added up."""

    process: int
    dataset: int
    location: Location | None  # where its iterator is made
    stages: tuple[Stage, ...]  # from the one that hands out batches to the sources
    built: tuple[Mapping[str, Any], ...]  # the stages as the program built them
    batches: int
    wait: float  # seconds in GetNext per batch; NaN where it could not be told
    over: int  # batches that `wait` was measured over
    later: float  # the same once a cache is full; NaN where that was not seen
    filling: int  # batches of the pass that fills a cache; 0 where there is none, or none that is ever full
    fetches: int  # batches that Python fetched; the others went straight into a compiled step
    fetch: float  # seconds per such fetch
    per_step: float  # batches per training step
    iterators: int
    made: tuple[float, ...]  # when iterators over it were made
    sources: int  # how often the pipeline itself was built
    length: int  # the most batches that one iterator handed out
    span: tuple[float, float]  # when it was first and last seen at work
    evaluates: bool
    profiled: bool  # what is said of it comes from a window of the profiler
    cores: int
    spare_bytes: float  # memory that tf.data itself would allow for its buffers

    @property
    def in_python(self) -> bool:
        return self.fetches * 2 > self.batches

    @property
    def opaque(self) -> bool:
        """Whether it only hands on what a strategy's own iterator makes: its stages are not the program's."""
        return any("PerDeviceGenerator" in str(stage["kind"]) for stage in self.built)

    def has(self, kind: str) -> bool:
        """Whether the program built a stage of this kind."""
        return any(base(str(stage["kind"])) == kind for stage in self.built)


def pipelines(run: Run) -> list[Pipeline]:
    """Every pipeline that handed out batches."""
    built: dict[tuple[int, int], Sequence[Mapping[str, Any]]] = {}
    made: dict[tuple[int, int], list[Event]] = defaultdict(list)
    readings: dict[tuple[int, int, bool], dict[int, list[Event]]] = {}
    for event in (*run.of("dataset", "iterator", "pipeline"), *said_in_graphs(run)):
        key = (event.process, int(event.data["dataset"]))
        if event.kind == "dataset":
            built[key] = event.data["stages"]
        elif event.kind == "iterator":
            made[key].append(event)
        else:
            whose = readings.setdefault((*key, bool(event.data["evaluates"])), {})
            whose.setdefault(int(event.data["iterator"]), []).append(event)
    for whose in readings.values():
        for number in [
            number for number, events in whose.items() if not events[-1].data["elements"]
        ]:
            del whose[number]  # never used: Keras makes one iterator more than it needs
    return [
        _pipeline(
            run,
            process,
            dataset,
            evaluates,
            built.get((process, dataset), ()),
            made[(process, dataset)],
            found,
        )
        for (process, dataset, evaluates), found in readings.items()
        if found
    ]


def _pipeline(
    run: Run,
    process: int,
    dataset: int,
    evaluates: bool,
    built: Sequence[Mapping[str, Any]],
    made: Sequence[Event],
    readings: Mapping[int, list[Event]],
) -> Pipeline:
    seen = list(readings.values())
    last = [events[-1] for events in seen]
    over = sum(int(event.data["over"]) for event in last)
    fetches = sum(int(event.data["fetches"]) for event in last)
    batches = sum(int(event.data["elements"]) for event in last)
    steps, stepped = _progress(seen)
    stack = next((event.data.get("stack") for event in made if event.data.get("stack")), None)
    times = [event.time for events in seen for event in events]
    cached = any(stage["kind"] == "Cache" and stage.get("length") != _ENDLESS for stage in built)
    full, since = _once_full(seen) if cached else (seen, None)
    length = max(int(event.data.get("length", event.data["elements"])) for event in last)
    return Pipeline(
        process=process,
        dataset=dataset,
        location=say.place(run, stack[0]) if stack else None,
        stages=tuple(_stages(run, built, seen, full or seen, since)),
        built=tuple(built),
        batches=batches,
        wait=_mean_wait(seen),
        over=over,
        later=_mean_wait(full, since),
        filling=0
        if not cached
        else length
        if since is None
        else max(1, int(since.data["elements"])),
        fetches=fetches,
        fetch=sum(float(event.data["fetch"]) for event in last) / fetches if fetches else 0.0,
        per_step=stepped / steps if steps else 0.0,
        iterators=max((int(event.data["n"]) for event in made), default=0),
        made=tuple(
            event.time for event in made if not event.data.get("graph")
        ),  # in a graph it is only built
        sources=max((int(event.data.get("sources", 1)) for event in made), default=1),
        length=length,
        span=(min(times), max(times)),
        evaluates=evaluates,
        profiled=bool(last[0].data.get("settled")),
        cores=max(int(event.data["cpu_budget"]) for event in last),
        spare_bytes=float(last[-1].data["ram_budget"]),
    )


def endless_cache(run: Run, process: int) -> Location | None:
    """The line that caches in memory what has no end, as behind a repeat()."""
    for event in run.of("dataset"):
        for stage in event.data["stages"] if event.process == process else ():
            endless = (
                stage["kind"] == "Cache"
                and stage.get("length") == _ENDLESS
                and not stage.get("file")
            )
            if endless and stage.get("stack"):
                return say.place(run, stage["stack"][0])
    return None


def _once_full(seen: Sequence[list[Event]]) -> tuple[Sequence[list[Event]], Event | None]:
    """The iterators that read from a full cache, if any did; and since which reading, where one goes on and on."""
    if seen[0][-1].data.get("settled"):
        return seen, None
    if len(seen) > 1:
        return seen[1:], None
    since = next((event for event in seen[0][:-1] if _is_full(event)), None)
    return (seen, since) if since is not None else ((), None)


def _is_full(reading: Event) -> bool:
    """Whether all caches are read from: one that is being filled asks the stage below it (seen on 2.21)."""
    caches = [node for node in reading.data["nodes"] if str(node["name"]).endswith("CacheImpl")]
    return bool(caches) and not any(node["inputs"] for node in caches)


def _mean_wait(readings: Sequence[list[Event]], since: Event | None = None) -> float:
    last = [events[-1].data for events in readings]
    over = sum(int(data["over"]) for data in last) - (int(since.data["over"]) if since else 0)
    wait = sum(float(data["wait"]) for data in last) - (float(since.data["wait"]) if since else 0.0)
    return wait / over if over > 0 else float("nan")


def _progress(readings: Iterable[list[Event]]) -> tuple[int, int]:
    """Training steps and batches between the first and the last reading of each iterator."""
    steps = batches = 0
    for events in readings:
        steps += int(events[-1].data["step"]) - int(events[0].data["step"])
        batches += int(events[-1].data["elements"]) - int(events[0].data["elements"])
    return steps, batches


# Stages: what the model counted, per batch


def _stages(
    run: Run,
    built: Sequence[Mapping[str, Any]],
    readings: Sequence[list[Event]],
    full: Sequence[list[Event]],
    since: Event | None = None,
) -> Iterable[Stage]:
    """What is counted are the iterators that read from a full cache, from one reading on where there is one only."""
    # Sources leave the model when they are used up: the fullest reading has the whole shape.
    fullest = max(
        (event for events in readings for event in events),
        key=lambda event: len(event.data["nodes"]),
    )
    shape = {int(node["id"]): node for node in fullest.data["nodes"]}
    top = root(fullest)
    if top is None or not top["inputs"]:
        return
    places, said = paths(fullest), latest(readings)
    seconds = counted(full, since)
    by_node = {number: seconds.get(path, (0.0, 0.0)) for path, number in places.items()}
    shape = {number: {**shape[number], **said[path]} for path, number in places.items()}
    lowest = -1
    for node, positions, inner in aligned(
        shape, int(top["inputs"][0]), built, 0 if built else None
    ):
        lowest = max([lowest, *positions])
        yield _stage(run, node, [built[position] for position in positions], inner, by_node)
    for stage in built[lowest + 1 :]:  # used up before anybody looked
        if stage["kind"] not in NOT_RUN:
            yield _unseen(run, stage)


def _stage(
    run: Run,
    node: Mapping[str, Any],
    made: Sequence[Mapping[str, Any]],
    inner: Sequence[int],
    by_node: Mapping[int, tuple[float, float]],
) -> Stage:
    busy, elements = by_node.get(int(node["id"]), (0.0, 0.0))
    busy += sum(by_node[number][0] for number in inner if number in by_node)
    leader = next((one for one in reversed(made) if "function" in one), made[0] if made else {})
    settings: dict[str, Any] = {}
    for one in made:
        settings.update(
            {key: value for key, value in one.items() if key not in ("stack", "inputs")}
        )
    settings.update({key: value for key, value in leader.items() if key not in ("stack", "inputs")})
    stack = tuple(say.place(run, place) for place in leader.get("stack", ()))
    return Stage(
        name=str(node["name"]),
        location=stack[0] if stack else None,
        busy=busy,
        elements=elements,
        parallelism=float(node.get("parallelism", 1.0)),
        tuned=bool(node.get("parallelism_tuned", False)),
        asynchronous=bool(node["asynchronous"]),
        buffered=float(node["buffered"]),
        buffered_bytes=float(node["buffered_bytes"]),
        bytes=float(node["produced"]) / max(1.0, float(node["elements"])),
        settings=settings,
        stack=stack,
    )


def _unseen(run: Run, made: Mapping[str, Any]) -> Stage:
    stack = tuple(say.place(run, place) for place in made.get("stack", ()))
    settings = {key: value for key, value in made.items() if key not in ("stack", "inputs")}
    return Stage(
        name=str(made["kind"]),
        location=stack[0] if stack else None,
        busy=0.0,
        elements=0.0,
        parallelism=1.0,
        tuned=False,
        asynchronous=False,
        buffered=0.0,
        buffered_bytes=0.0,
        bytes=float(made.get("bytes", 0)),
        settings=settings,
        stack=stack,
    )


def without(stages: Sequence[Stage], *gone: Stage) -> tuple[Stage, ...]:
    """The stages as if some of them cost nothing."""
    return tuple(replace(stage, busy=0.0) if stage in gone else stage for stage in stages)


def slowest(stages: Sequence[Stage]) -> tuple[float, tuple[Stage, ...]]:
    """Seconds per batch of the slowest run of stages that share a thread, and those stages, the dearest first.

    A stage with threads of its own works beside the stages above it; those between two such stages add up.
    A prefetch only hands on: what it counts as its own is waiting.
    """
    best: tuple[float, tuple[Stage, ...]] = (0.0, ())
    run: list[Stage] = []
    for stage in (*stages, None):
        if stage is None or stage.asynchronous:
            seconds = sum(one.seconds for one in run)
            if seconds > best[0]:
                best = (seconds, tuple(sorted(run, key=lambda one: -one.seconds)))
            run = []
        if (
            stage is not None
            and stage.asynchronous
            and stage.seconds > best[0]
            and stage.kind != "Prefetch"
        ):
            best = (stage.seconds, (stage,))
        elif stage is not None and not stage.asynchronous:
            run.append(stage)
    return best
