"""Pipelines without a readable model, as in a session's graph, from a profiler window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from unslow.analyse.host.step_profile import whole_windows
from unslow.analyse.input.model_readings import Readings
from unslow.analyse.input.overlay import NOT_RUN, Match, match_stages
from unslow.analyse.input.profile_iterators import ProfiledIterator, ProfiledStage, above
from unslow.facts.data import (
    NO_MODELS,
    BuiltStage,
    Dataset,
    IteratorMade,
    ModelNode,
    NoPipeline,
    PipelineReading,
)
from unslow.facts.profiler import ProfilerWindow
from unslow.model import Loop, Run

READS = (Dataset, IteratorMade, NoPipeline, PipelineReading, ProfilerWindow)

_ADDED = ("Prefetch", "MaxIntraOpParallelism", "PrivateThreadPool")  # stages TensorFlow adds itself
_EXPLAINED = 0.5  # of a wait: stages that do less work in it do not say which of them it is for

_Built = Sequence[BuiltStage]


def profiled_readings(run: Run) -> Iterable[Readings]:
    """What such iterators would have reported at the start and the end of a loop.

    An iterator has no model in a graph, without autotuning (as Keras sets it for a PyDataset with
    workers) and before TensorFlow 2.17. A window shows a few steps, which stand for the whole loop.
    """
    without_model = {fact.process for fact in run.facts(NoPipeline)}
    without_model -= {fact.process for fact in run.facts(PipelineReading)}
    candidates = _candidates(run, without_model)
    number = 0
    for loop in run.loops:
        keras = loop.style == "keras" and loop.process in without_model
        if loop.style != "session" and not keras:
            continue
        for window, profile in list(whole_windows(run, loop))[-1:]:
            for iterator in profile.iterators:
                number -= 1  # no iterator with a model has such a number
                seen = _Seen(loop, window, iterator, number)
                yield from seen.readings(candidates[loop.process])


def unreadable(run: Run) -> str:
    """Why waits for data inside of compiled steps are not known; "" where they are.

    A training without a dataset has none.
    """
    readings = chain(run.facts(PipelineReading), (one.last for one in profiled_readings(run)))
    read = {reading.process for reading in readings}
    unread = (fact for fact in run.facts(NoPipeline) if fact.process not in read)
    return next((fact.why for fact in unread if fact.why == NO_MODELS), "")


def has_no_models(run: Run, process: int) -> bool:
    return any(fact.why == NO_MODELS for fact in run.facts(NoPipeline, process))


def stages_built(run: Run) -> dict[tuple[int, int], tuple[BuiltStage, ...]]:
    """The stages of each pipeline as the program built it, by process and dataset."""
    return {(fact.process, fact.dataset): fact.stages for fact in run.facts(Dataset)}


def _candidates(run: Run, without_model: set[int]) -> dict[int, dict[int, _Built]]:
    """By process: the pipelines that feed a training and have no model."""
    built = stages_built(run)
    found: dict[int, dict[int, _Built]] = defaultdict(dict)
    for made in run.facts(IteratorMade):
        key = (made.process, made.dataset)
        unreadable = made.graph or made.process in without_model
        if unreadable and not made.evaluates and key in built:
            found[made.process][made.dataset] = built[key]
    return found


@dataclass(frozen=True)
class _Seen:
    """An iterator as a window saw it, in a loop."""

    loop: Loop
    window: ProfilerWindow
    iterator: ProfiledIterator
    number: int

    def readings(self, candidates: Mapping[int, _Built]) -> Iterable[Readings]:
        gets = self.iterator.gets
        batches = round(self.loop.steps * gets / self.window.steps)
        if batches < 1 or _fills_cache(self.iterator):
            return
        nodes = _nodes(self.iterator)
        dataset = _dataset_of(nodes, candidates) if _explains_wait(self.iterator) else 0
        built = candidates[dataset] if dataset else ()
        end = PipelineReading(
            time=self.loop.stop,
            process=self.loop.process,
            iterator=self.number,
            dataset=dataset,
            step=self.loop.steps,
            elements=batches,
            wait=self.iterator.wait,
            over=gets,
            nodes=_over_loop(nodes, built, self.iterator.bytes, batches) if dataset else (),
            cpu_budget=self.iterator.cores,
            ram_budget=self.iterator.memory,
        )
        start = end.replace(time=self.loop.start, step=0, elements=0, nodes=())
        cached = any(node.name.endswith("Cache") for node in nodes.values())
        length = self._batches_before() if cached else batches
        yield Readings((start, end), profiled=True, pass_length=length)

    def _batches_before(self) -> int:
        """Batches before the window: a cache that is read in it was full at its start."""
        steps = max(0, self.loop.step_at(self.window.time) - self.window.steps)
        return steps * self.iterator.gets // self.window.steps


def _fills_cache(iterator: ProfiledIterator) -> bool:
    """Whether what stands below a cache is at work: later passes will not be like this one."""
    at_work = [place.rpartition("/") for place, stage in iterator.stages.items() if stage.count]
    return any("Cache" in upper and "Cache" not in own for upper, _, own in at_work)


def _explains_wait(iterator: ProfiledIterator) -> bool:
    """Whether the stages were seen doing the work that is waited for."""
    work = sum(stage.took for stage in iterator.stages.values())
    for place, stage in iterator.stages.items():
        work += 0.0 if _is_asynchronous(place) else max(0.0, stage.own)
    return work >= _EXPLAINED * iterator.wait


# Stages as nodes of tf.data's own model; seconds and elements per batch


def _nodes(iterator: ProfiledIterator) -> dict[int, ModelNode]:
    # A stage that ran through the whole window was not seen itself, only those below it.
    places = sorted({place for seen in iterator.stages for place in _with_all_above(seen)})
    numbers = {place: number for number, place in enumerate(places, 1)}
    nodes = [_node(place, iterator, numbers) for place in places]
    return {node.id: node for node in nodes}


def _with_all_above(place: str) -> Iterable[str]:
    while place:
        yield place
        place = above(place)


def _node(place: str, iterator: ProfiledIterator, numbers: Mapping[str, int]) -> ModelNode:
    name = place.rpartition("/")[2]
    stage = iterator.stages.get(place, ProfiledStage())
    asynchronous = _is_asynchronous(place)
    # One element may have been in flight at either end of the window.
    one_each = abs(stage.count - iterator.gets) <= 1
    elements = 1.0 if one_each else stage.count / iterator.gets
    own = max(0.0, stage.own) / stage.count if stage.count and not asynchronous else 0.0
    return ModelNode(
        id=numbers[place],
        name=name,
        inputs=_inputs(place, numbers),
        elements=elements,
        busy=(own * elements + stage.work / iterator.gets) * 1e9,
        buffered=stage.buffered,
        buffered_bytes=stage.buffered_bytes,
        asynchronous=asynchronous,
        parallelism=max(1, stage.parallelism),
        parallelism_tuned=stage.tuned,
    )


def _is_asynchronous(place: str) -> bool:
    name = place.rpartition("/")[2]
    return name == "Prefetch" or name.startswith(("MapAndBatch", "Parallel"))


def _inputs(place: str, numbers: Mapping[str, int]) -> tuple[int, ...]:
    """The nodes right below, in the order of the program; 0 for an input that was not seen."""
    below = {
        other[len(place) :].rpartition("/")[0]: number
        for other, number in numbers.items()
        if above(other) == place
    }
    per_element = [below.pop("[]")] if "[]" in below else []
    plain = below.pop("", 0)
    numbered = {int(index[1:-1]): number for index, number in below.items()}
    if numbered:
        return tuple(numbered.get(position, 0) for position in range(max(numbered) + 1))
    return (plain, *per_element) if plain or per_element else ()


# The program's own stages


def _dataset_of(nodes: Mapping[int, ModelNode], candidates: Mapping[int, _Built]) -> int:
    """The pipeline with these stages; 0 where there is none, or two at different lines fit."""
    fits = [_fit(number, built, match_stages(nodes, built)) for number, built in candidates.items()]
    least = min((fit.mismatches for fit in fits), default=0)
    best = [fit for fit in fits if fit.mismatches == least]
    return min(fit.dataset for fit in best) if len({fit.lines for fit in best}) == 1 else 0


@dataclass(frozen=True)
class _Fit:
    dataset: int
    mismatches: int  # nodes without a stage, and stages without a node
    lines: str


def _fit(dataset: int, built: _Built, matches: Sequence[Match]) -> _Fit:
    unknown = [one for one in matches if not one.positions and one.node.name not in _ADDED]
    used = {position for match in matches for position in match.positions}
    passed_over = set(range(max(used, default=0))) - used
    dropped = [position for position in passed_over if built[position].kind not in NOT_RUN]
    lines = [[built[position].stack[:1] for position in match.positions] for match in matches]
    return _Fit(dataset, len(unknown) + len(dropped), str(lines))


def _over_loop(
    nodes: Mapping[int, ModelNode], built: _Built, size: float, batches: int
) -> tuple[ModelNode, ...]:
    """The nodes with all that they did in the loop.

    A batch consists of what the last function returned, which gives the size; below it is unknown.
    """
    sized = set()
    for match in match_stages(nodes, built):
        sized.add(match.node.id)
        if any(built[position].function is not None for position in match.positions):
            break
    return tuple(
        node.replace(
            busy=node.busy * batches,
            elements=node.elements * batches,
            produced=size * batches if node.id in sized else 0.0,
        )
        for node in nodes.values()
    )
