"""The batch is copied in through feed_dict, and its conversion or copy takes a real part of the
step."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from unslow.analyse import wording as say
from unslow.analyse.graphs.session_steps import inspected_loops, inspected_steps
from unslow.analyse.sketches.sketch import Placed, Sketch, at
from unslow.cause import Cause, Spot
from unslow.facts.schema import Place
from unslow.facts.sessions import Feed, InspectedRun
from unslow.model import Evidence, Finding, Fix, Location, Loop, Refusal, Run, Safety
from unslow.syntax import How, argument

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_LEAST = 50e-6  # seconds: a conversion shorter than this is the price of any call
_OF_COPY = 0.2  # of the copy that follows: a conversion that takes less is not what costs
_WORTH_COPY = 0.1  # of a step: a rewrite with tf.data is not worth less


@dataclass(frozen=True)
class _FedArray:
    """One value that the fix converts in front of the loop."""

    line: int
    position: int  # in the feed_dict
    wanted: str  # dtype
    reason: str


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    feeds: tuple[_FedArray, ...]


@dataclass(frozen=True)
class _Feed:
    """What is fed at one line to one placeholder: the last value, and medians of all."""

    location: Location
    last: Feed
    bytes: float
    elements: int
    convert: float
    copy: float
    per_step: float

    @property
    def reason(self) -> str:
        """list, dtype, order or copy: what costs most about it."""
        last = self.last
        enough = _OF_COPY * self.copy if last.contiguous else self.copy
        if self.convert >= max(_LEAST, enough):
            return "dtype" if last.dtype and last.dtype != last.wanted else "list"
        return "copy" if last.contiguous else "order"

    @property
    def seconds(self) -> float:
        """Per step; a plain copy is made whatever the values were before."""
        return (self.copy if self.reason in ("copy", "order") else self.convert) * self.per_step

    def says(self) -> str:
        if self.reason == "list":
            return f"a Python {self.last.type} of {self.elements:,} numbers is turned into an array"
        if self.reason == "dtype":
            dtypes = f"from {self.last.dtype} to {self.last.wanted}"
            return f"{say.size(self.bytes)} are converted {dtypes}"
        if self.reason == "order":
            return f"{say.size(self.bytes)} that are not contiguous are put in order"
        return f"{say.size(self.bytes)} are copied"


class FeedDict(Cause):
    """
    What happens
    Every run hands its batch to the session through `feed_dict`. A Python list is turned into an
    array number by number; an array of another type (float64 for float32) or with another layout is
    converted; then it is copied.

    Why it is slow
    All of it happens in Python before the graph starts, and nothing computes meanwhile. A list
    costs some fifty times as much as an array of the right type.

    The fix
    Convert the data once, in front of the loop, to arrays of the type that the placeholder has.
    Where the plain copy is what costs, feed the data through `tf.data`, which prepares the next
    batch while this one is computed.

    When we are wrong
    Data that is made anew for every step (a simulation, augmentation) has to be converted each
    time. Make it in the right type then.
    """

    title = "feeding the batch costs a real part of the step"
    reads = (InspectedRun, Feed)
    deeper_than = ("tiny-batches",)  # what each run costs is spent whatever the batch

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in inspected_loops(run):
            feeds = _feeds(run, loop)
            converted = [feed for feed in feeds if feed.reason != "copy"]
            copied = [feed for feed in feeds if feed.reason == "copy"]
            if converted:
                yield self._converted(loop, converted)
            if sum(feed.seconds for feed in copied) > _WORTH_COPY * loop.typical():
                yield self._copied(loop, copied)

    def _converted(self, loop: Loop, feeds: Sequence[_Feed]) -> Finding:
        first = max(feeds, key=lambda feed: feed.seconds)
        each = min(sum(feed.seconds for feed in feeds), loop.typical())
        ready = (
            "np.ascontiguousarray(…)"
            if first.reason == "order"
            else f"np.asarray(…, dtype=np.{first.last.wanted})"
        )
        here = [feed for feed in feeds if feed.location.file == first.location.file]
        return Finding(
            cause=self.id,
            title=f"{first.says()} in every step to be fed: {say.time(each)} of a step of "
            f"{say.time(loop.typical())}",
            location=first.location,
            seconds=each * loop.steps,
            evidence=_evidence(feeds),
            advice=f"Convert the data once, in front of the loop: `{ready}`, and feed slices of "
            "that.",
            detail=_Detail(
                tuple(
                    _FedArray(feed.location.line, feed.last.position, feed.last.wanted, feed.reason)
                    for feed in here
                )
            ),
        )

    def _copied(self, loop: Loop, feeds: Sequence[_Feed]) -> Finding:
        first = max(feeds, key=lambda feed: feed.seconds)
        each = sum(feed.seconds for feed in feeds)
        size = sum(feed.bytes * feed.per_step for feed in feeds)
        return Finding(
            cause=self.id,
            title=f"{say.size(size)} are copied in through feed_dict in every step: "
            f"{say.time(each)} of a step of {say.time(loop.typical())}",
            location=first.location,
            seconds=each * loop.steps,
            evidence=_evidence(feeds),
            advice="Read the batches from "
            "`tf.data.Dataset.from_tensor_slices(…).batch(…).prefetch(1)` through "
            "`tf.data.make_one_shot_iterator(…).get_next()`: the next batch is copied while this "
            "one is computed.",
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        detail = finding.detail
        if not isinstance(detail, _Detail):
            return None
        from unslow.fix.edit.script import CannotEdit
        from unslow.fix.moves.convert_feed import converted_once

        edited, refusal = script, None
        for feed in detail.feeds:
            reorder = feed.reason == "order"
            try:
                edited = converted_once(edited, feed.line, feed.position, feed.wanted, reorder)
            except CannotEdit as problem:
                refusal = problem
        if edited is script:
            return Refusal(str(refusal), finding.location)
        return Fix(
            title="Convert the data once, in front of the loop",
            safety=Safety.EXACT,
            files={script.path: edited.text},
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        for call in source.session_runs():
            loop = source.innermost(call)
            feed = argument(call, "feed_dict", 1)
            if loop is None or not isinstance(feed, ast.Dict):
                continue
            lists = [value for value in feed.values if _is_list(source, value)]
            if lists:
                yield source.spot(
                    lists[0],
                    f"`{ast.unparse(lists[0])}` is a Python list, which is turned into an array"
                    f" number by number in every turn of the loop at line {loop.lineno}",
                    "feed a NumPy array of the placeholder's dtype: make it once, and slice it in"
                    " the loop",
                )


def _feeds(run: Run, loop: Loop) -> list[_Feed]:
    inspected = len(inspected_steps(run, loop))
    groups: dict[tuple[Place, str], list[Feed]] = defaultdict(list)
    for feed in run.facts(Feed):
        if loop.holds(feed) and feed.stack:
            groups[feed.stack[0], feed.name].append(feed)
    return [
        _Feed(
            location=say.place(run, feeds[-1].stack[0]),
            last=feeds[-1],
            bytes=median(feed.bytes for feed in feeds),
            elements=int(median(feed.elements for feed in feeds)),
            convert=median(feed.convert for feed in feeds),
            copy=median(feed.copy for feed in feeds),
            per_step=len(feeds) / inspected,
        )
        for feeds in groups.values()
    ]


def _evidence(feeds: Sequence[_Feed]) -> tuple[Evidence, ...]:
    found = []
    for feed in feeds:
        last = feed.last
        copied = "seconds of copying" if last.contiguous else "seconds of putting in order"
        given = f"{last.type} {last.dtype}".strip()
        found += [
            Evidence(f"fed to {last.name}", f"{given} → {last.wanted}"),
            Evidence("bytes per step", feed.bytes * feed.per_step, "B"),
            Evidence("seconds of conversion", feed.convert, "s"),
            Evidence(copied, feed.copy, "s"),
        ]
    return tuple(found)


def _is_list(source: Source, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        made = [
            binding.value
            for binding in source.reaching(value)
            if binding.how is How.ASSIGN and not binding.path
        ]
        held = made[0] if len(made) == 1 else None
        return held is not None and not isinstance(held, ast.Name) and _is_list(source, held)
    if isinstance(value, ast.Call):
        method = value.func.attr if isinstance(value.func, ast.Attribute) else ""
        return method == "tolist" or (source.name(value.func) == "list" and bool(value.args))
    return isinstance(value, ast.ListComp)


_ARRAY = Feed(
    cycle=0,
    stack=(Place("train.py", 12, "<module>"),),
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
