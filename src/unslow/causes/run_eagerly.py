"""A flag that makes compiled functions run op by op was left on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unslow.analyse.graphs.eager_cost import EagerCost, eager_cost
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause, Spot
from unslow.causes.eager_step import FEWEST_OPS, WORTH, evidence
from unslow.facts.eager import EagerOps
from unslow.facts.functions import Eagerly
from unslow.model import Evidence, Finding, Fix, Location, Loop, Phase, Refusal, Run, Safety
from unslow.syntax import Kind, argument

if TYPE_CHECKING:
    from unslow.fix.edit.script import Script
    from unslow.syntax import Source

_COMPILED = (Kind.MODEL, Kind.UNKNOWN)
_SWITCHES = ("tf.config.run_functions_eagerly", "tf.config.experimental_run_functions_eagerly")

_SAYS = {
    "run_functions_eagerly": "tf.config.run_functions_eagerly(True)",
    "compile": "compile(run_eagerly=True)",
    "run_eagerly": "run_eagerly = True",
}


@dataclass(frozen=True)
class _Detail:
    """What the fix needs to know."""

    way: str
    inside: tuple[tuple[str, int, str], ...]  # the user's own functions inside a step


class RunEagerly(Cause):
    """
    What happens
    `compile(run_eagerly=True)` or `tf.config.run_functions_eagerly(True)` was set, mostly for a
    debugger. Every step then runs op by op, as if nothing were compiled.

    Why it is slow
    Dispatching an op costs tens of microseconds of Python and bookkeeping, whatever it computes,
    and an optimizer alone dispatches a dozen per variable. A compiled step is dispatched once.

    The fix
    Remove the flag. If a debugger is needed now and then, set it from a command-line option.

    When we are wrong
    A `train_step` that only works eagerly (Python libraries inside it, shapes that never repeat)
    needs the flag. Where the ops are large, removing it gains little; the finding says how much.
    """

    title = "a debugging flag makes everything run op by op"
    reads = (Eagerly, EagerOps)
    deeper_than = ("eager-step", "tiny-batches")

    def detect(self, run: Run) -> Iterable[Finding]:
        for loop in run.loops:
            flag = _flag(run, loop)
            cost = eager_cost(run, loop) if flag is not None else None
            if flag is None or cost is None or cost.ops < FEWEST_OPS or cost.gain < WORTH:
                continue
            way = flag.way
            stack = [Location(*place) for place in flag.stack]
            yield Finding(
                cause=self.id,
                title=f"{_SAYS[way]} makes every step run op by op: {cost.ops} ops in a step of "
                f"{cost.step * 1e3:.3g} ms, of which {cost.kernels * 1e3:.3g} ms compute",
                location=stack[0] if stack else loop.update,
                seconds=cost.saved,
                evidence=(
                    Evidence("flag", f"{_SAYS[way]} before step {flag.step + 1}"),
                    *evidence(cost),
                ),
                detail=_Detail(way, tuple(_user_code(cost, stack))),
            )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        from unslow.fix.edit.script import CannotEdit
        from unslow.fix.moves.eager_flag import flag_off, needs_python, overrule_flag
        from unslow.fix.moves.shapes import DRAWS

        detail, line = finding.detail_of(_Detail), finding.place.line
        notes = []
        try:
            edited = flag_off(script, line, detail.way)
        except CannotEdit:
            overruled = overrule_flag(script, line, detail.way)
            edited = overruled.script
            notes.append(f"The flag no longer follows `{overruled.value}`.")
        inside = needs_python(script, detail.inside)
        if inside:
            notes.append(f"{inside}; compiled, that runs only while the step is traced.")
        if any(script.name(call.func).startswith(DRAWS) for call in script.every(ast.Call)):
            notes.append("With the same seed, compiled ops draw other random numbers.")
        return Fix(
            title="remove the debugging flag",
            safety=Safety.REVIEW if notes else Safety.CLOSE,
            files=edited.files,
            note=" ".join(notes),
        )

    def spot(self, source: Source) -> Iterable[Spot]:
        if any(_is(argument(call, "run_eagerly", 0), False) for call in source.calls(*_SWITCHES)):
            return  # the file turns it off again
        for call in source.every(ast.Call):
            flag = _flag_on(source, call)
            if flag is not None and not any(source.conditions(call)):
                yield source.spot(
                    flag,
                    "this makes every step run op by op, in every run of the script",
                    "remove it, or set it only while debugging",
                )


def _flag_on(source: Source, call: ast.Call) -> ast.expr | None:
    """What switches compiling off in a call: the call itself, or the argument of compile()."""
    if source.name(call.func) in _SWITCHES:
        return call if _is(argument(call, "run_eagerly", 0), True) else None
    match call.func:
        case ast.Attribute(attr="compile", value=model) if source.kind(model) in _COMPILED:
            value = argument(call, "run_eagerly")
            return value if _is(value, True) else None
    return None


def _user_code(cost: EagerCost, flag: Sequence[Location]) -> list[tuple[str, int, str]]:
    """The user's own functions inside a step: with the flag off, they are compiled too."""
    outside = {"<module>", *(place.function for place in flag)}
    inner = [stack[0] for stack, _ in cost.lines if len(stack) > 1]
    found: dict[tuple[str, str], int] = {}
    for place in inner:
        if place.function not in outside:
            found[place.file, place.function] = place.line
    return [(file, line, function) for (file, function), line in found.items()]


def _flag(run: Run, loop: Loop) -> Eagerly | None:
    """What set a flag that was on in a loop: for all functions, or for the last model compiled."""
    before = [flag for flag in run.facts(Eagerly, loop.process) if flag.time <= loop.stop]
    functions = [flag for flag in before if flag.way == "run_functions_eagerly"]
    models = [flag for flag in before if flag.way != "run_functions_eagerly"]
    last = [*functions[-1:], *(models[-1:] if loop.style == "keras" else [])]
    return next((flag for flag in last if flag.value), None)


def _is(value: ast.expr | None, wanted: bool) -> bool:
    return isinstance(value, ast.Constant) and value.value is wanted


def _window(step: int) -> Placed:
    cost = EagerOps(step=step, ops=200, took=0.004, floor=2e-5, kernels=0.001, wall=0.01)
    return at(step, cost.replace(top=(("Mul", 200),)))


def _set(value: bool) -> Placed:
    stack = stack_at(8)
    return at(0, Eagerly(way="compile", value=value, model=1, stack=stack))


_WINDOWS = [_window(step) for step in (4, 8, 16, 32, 64)]
_STEP = {Phase.RUN: 0.8}
RunEagerly.FIRES = (
    Sketch("left on in compile()", facts=[_set(True), *_WINDOWS], style="keras", phases=_STEP),
)
RunEagerly.QUIET = (
    Sketch(
        "on, then off again",
        facts=[_set(True), _set(False), *_WINDOWS],
        style="keras",
        phases=_STEP,
    ),
    Sketch("on, but nothing ran op by op", facts=[_set(True)], style="keras", phases=_STEP),
)
