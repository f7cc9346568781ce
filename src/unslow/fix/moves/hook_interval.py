"""Lengthen the interval of what a session's hooks do: saving, writing summaries."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_arguments import keyword_value
from unslow.syntax.literals import Literal, Obstacle, find_literal
from unslow.syntax.nodes import header_calls, method_of

_SESSION = "tf.train.MonitoredTrainingSession"
# By the class: the arguments that hold an interval, with their position.
Intervals = Mapping[str, Mapping[str, int]]
SAVING: Intervals = {
    _SESSION: {"save_checkpoint_steps": 13, "save_checkpoint_secs": 6},
    "tf.train.CheckpointSaverHook": {"save_steps": 2, "save_secs": 1},
}
WRITING: Intervals = {
    _SESSION: {"save_summaries_steps": 7, "save_summaries_secs": 8},
    "tf.train.SummarySaverHook": {"save_steps": 0, "save_secs": 1},
}


@dataclass(frozen=True)
class _Given:
    """An interval that a call is given, in the file that makes the call."""

    script: Script
    value: ast.expr


def runs_hooks(script: Script, line: int, intervals: Intervals) -> bool:
    """Whether a line runs a session whose hooks may do more than the line says."""
    node = script.statement_at(line)
    calls = header_calls(node) if node is not None else []
    runs = [call for call in calls if method_of(call) in ("run", "run_step_fn")]
    return bool(runs) and any(_makers(script, intervals))


def rarer_hook(script: Script, intervals: Intervals, times: int) -> Script:
    """Multiplies the one interval of this kind that the program gives to a session or a hook.

    It is changed where its number is written, be it in a configuration or in another file.
    """
    makers = list(_makers(script, intervals))
    given = [each for owner, call in makers for each in _given(owner, call, intervals)]
    if not given:
        what = " or ".join(f"`{name.rpartition('.')[2]}`" for name in intervals)
        raise CannotEdit(f"no {what} in this program is given an interval")
    if len(given) > 1:
        reason = "the program gives more than one interval to its sessions and hooks"
        raise given[-1].script.refuse(reason, given[-1].value)

    def longer(literal: Literal[Script]) -> str:
        if not isinstance(literal.value, int | float) or isinstance(literal.value, bool):
            what = literal.source.source(literal.node)
            raise literal.source.refuse(f"the interval `{what}` is no number", literal.node)
        return str(literal.value * times)

    return given[0].script.with_value(given[0].value, longer)


def _makers(script: Script, intervals: Intervals) -> Iterator[tuple[Script, ast.Call]]:
    """The calls that make sessions or hooks, in this file or in others of the program."""
    yield from ((script, call) for call in script.calls(*intervals))
    mentioned = [script.other_files(name.rpartition(".")[2]) for name in intervals]
    others = {other.path: other for other in itertools.chain(*mentioned)}
    for path in sorted(others, key=list(script.modules).index):
        yield from ((others[path], call) for call in others[path].calls(*intervals))


def _given(script: Script, call: ast.Call, intervals: Intervals) -> Iterator[_Given]:
    for name, position in intervals[script.name(call.func)].items():
        value = keyword_value(script, call, name, position)
        if value is not None and not _is_none(script, value):
            yield _Given(script, value)


def _is_none(script: Script, value: ast.expr) -> bool:
    try:
        return find_literal(script, value).value is None
    except Obstacle:
        return False
