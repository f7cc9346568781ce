"""Converting or copying the batch for feed_dict takes a large part of the step."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_feeds import FedValue, FeedCost, fed_values
from unslow.analyse.graphs.session_steps import inspected_loops
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.facts.sessions import Feed, InspectedRun
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.convert_feed import converted_once
from unslow.model import Evidence, Finding, Fix, Loop, Refusal, Run, Safety
from unslow.syntax import How, Source, argument
from unslow.syntax.nodes import method_of

_LEAST_COPY = 0.1  # of a step; a judgement: less is not worth a rewrite with tf.data


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    feeds: tuple[FedValue, ...]  # in one file


class FeedDict(Cause):
    """
    What happens
    Every run passes its batch to the session through `feed_dict`. A Python list is converted to an
    array number by number; an array of another dtype (float64 for float32) or memory layout is
    converted; then it is copied.

    Why it is slow
    All of this happens in Python before the graph starts, and nothing is computed meanwhile.
    Feeding a list takes about fifty times as long as feeding an array of the right dtype.

    The fix
    Convert the data once, before the loop, to arrays of the placeholder's dtype. If the plain copy
    is what costs, feed the data through `tf.data`, which prepares the next batch while the current
    one is computed.

    When we are wrong
    Data that is created for every step (a simulation, augmentation) cannot be converted in
    advance. Create it with the right dtype instead.
    """

    title = "feeding the batch costs a real part of the step"
    reads = (InspectedRun, Feed)
    deeper_than = ("tiny-batches",)  # feeding costs the same whatever the batch

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in inspected_loops(run):
            feeds = fed_values(run, loop)
            converted = [feed for feed in feeds if feed.cost is not FeedCost.COPY]
            if converted:
                yield self._converted(loop, converted)
            copied = [feed for feed in feeds if feed.cost is FeedCost.COPY]
            if _seconds(copied) > _LEAST_COPY * loop.typical():
                yield self._copied(loop, copied)

    def _converted(self, loop: Loop, feeds: Sequence[FedValue]) -> Finding:
        most = max(feeds, key=lambda feed: feed.seconds)
        each = min(_seconds(feeds), loop.typical())
        if most.cost is FeedCost.ORDER:
            conversion = "np.ascontiguousarray(…)"
        else:
            conversion = f"np.asarray(…, dtype=np.{most.last.wanted})"
        here = [feed for feed in feeds if feed.location.file == most.location.file]
        return Finding(
            cause=self.id,
            title=f"{_conversion(most)} in every step to be fed: {say.time(each)} of a step of "
            f"{say.time(loop.typical())}",
            location=most.location,
            seconds=each * loop.steps,
            evidence=tuple(_evidence(feeds)),
            advice=f"Convert the data once, before the loop: `{conversion}`, and feed slices of "
            "the result.",
            detail=_Detail(tuple(here)),
        )

    def _copied(self, loop: Loop, feeds: Sequence[FedValue]) -> Finding:
        most = max(feeds, key=lambda feed: feed.seconds)
        each = _seconds(feeds)
        size = sum(feed.bytes * feed.per_step for feed in feeds)
        return Finding(
            cause=self.id,
            title=f"{say.size(size)} are copied in through feed_dict in every step: "
            f"{say.time(each)} of a step of {say.time(loop.typical())}",
            location=most.location,
            seconds=each * loop.steps,
            evidence=tuple(_evidence(feeds)),
            advice="Read the batches from "
            "`tf.data.Dataset.from_tensor_slices(…).batch(…).prefetch(1)` through "
            "`tf.data.make_one_shot_iterator(…).get_next()`: the next batch is then copied while "
            "the current one is computed.",
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail = finding.detail
        if not isinstance(detail, _Detail):
            return None
        edited = script
        problem: CannotEdit | None = None
        for feed in sorted(detail.feeds, key=lambda feed: -feed.seconds):
            line, last = feed.location.line, feed.last
            reorder = feed.cost is FeedCost.ORDER
            try:
                edited = converted_once(edited, line, last.position, last.wanted, reorder)
            except CannotEdit as refused:
                problem = problem or refused
        if edited is script and problem is not None:
            raise problem
        return Fix("Convert the data once, in front of the loop", Safety.EXACT, edited.files)

    def spot(self, source: Source) -> Iterable[Spot]:
        for call in source.session_runs():
            loop = source.innermost(call)
            feed = argument(call, "feed_dict", 1)
            if loop is None or not isinstance(feed, ast.Dict):
                continue
            fed = next((value for value in feed.values if _is_list(source, value)), None)
            if fed is not None:
                yield source.spot(
                    fed,
                    f"`{ast.unparse(fed)}` is a Python list, which is converted to an array number "
                    f"by number in every iteration of the loop at line {loop.lineno}",
                    "feed a NumPy array of the placeholder's dtype: create it once, and slice it "
                    "in the loop",
                )


def _seconds(feeds: Sequence[FedValue]) -> float:
    return sum(feed.seconds for feed in feeds)


def _conversion(feed: FedValue) -> str:
    if feed.cost is FeedCost.LIST:
        return f"a Python {feed.last.type} of {feed.elements:,} numbers is converted to an array"
    if feed.cost is FeedCost.DTYPE:
        dtypes = f"from {feed.last.dtype} to {feed.last.wanted}"
        return f"{say.size(feed.bytes)} are converted {dtypes}"
    return f"{say.size(feed.bytes)} that are not contiguous are rearranged"


def _evidence(feeds: Sequence[FedValue]) -> Iterator[Evidence]:
    for feed in feeds:
        last = feed.last
        given = f"{last.type} {last.dtype}".strip()
        copied = "seconds of copying" if last.contiguous else "seconds of rearranging"
        yield Evidence(f"fed to {last.name}", f"{given} → {last.wanted}")
        yield Evidence("bytes per step", feed.bytes * feed.per_step, "B")
        yield Evidence("time of conversion", feed.convert, "s")
        yield Evidence(copied, feed.copy, "s")


def _is_list(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        held = _assigned(source, value)
        return not isinstance(held, ast.Name) and _is_list(source, held)
    if isinstance(value, ast.Call):
        is_list_call = source.name(value.func) == "list" and bool(value.args)
        return is_list_call or method_of(value) == "tolist"
    return isinstance(value, ast.ListComp)


def _assigned(source: Source, name: ast.Name) -> ast.expr:
    """The one value that was assigned to a name; else the name itself."""
    bindings = source.reaching(name)
    values = [each.value for each in bindings if each.how is How.ASSIGN and not each.path]
    only = values[0] if len(values) == 1 else None
    return only or name


_ARRAY = Feed(
    cycle=0,
    stack=stack_at(12),
    name="x:0",
    type="ndarray",
    dtype="float32",
    wanted="float32",
    bytes=1_000_000,
    elements=250_000,
    convert=1e-6,
    copy=1e-4,
)


def _looks(**feed: Any) -> list[Placed]:
    facts = []
    for cycle in (4, 8, 16):
        ran = InspectedRun(cycle=cycle, stack=_ARRAY.stack, updates=True, took=0.009)
        facts += [at(cycle, ran), at(cycle, _ARRAY.replace(cycle=cycle, **feed))]
    return facts


FeedDict.FIRES = (
    Sketch(
        "a Python list that takes 5 of 10 ms",
        style="session",
        facts=_looks(type="list", dtype="", convert=5e-3),
    ),
    Sketch("float64 for float32", style="session", facts=_looks(dtype="float64", convert=2e-3)),
    Sketch(
        "an array that does not lie in order",
        style="session",
        facts=_looks(contiguous=False, copy=2e-3),
    ),
    Sketch("a plain copy that takes a fifth of the step", style="session", facts=_looks(copy=2e-3)),
)
FeedDict.QUIET = (
    Sketch("an array of the right type", style="session", facts=_looks()),
    Sketch(
        "a list of a few numbers",
        style="session",
        facts=_looks(type="list", dtype="", convert=2e-5, bytes=80),
    ),
    Sketch(
        "a plain copy that takes a twentieth of the step", style="session", facts=_looks(copy=5e-4)
    ),
)
