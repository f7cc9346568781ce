"""Spell `tensor.eval(feed, session)` as `session.run(tensor, feed)`."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.syntax.nodes import argument


def eval_as_run(script: Script, line: int) -> Script:
    """Turn an `eval`, or an op's own `run`, into the `run` of its session."""
    call = script.call_at(line, "eval")
    if call is None or not isinstance(call.func, ast.Attribute):
        return script
    named = argument(call, "session", 1)
    session = script.needed(named, "the session that evaluates it is not named there", call)
    feed = argument(call, "feed_dict", 0)
    fetched = script.source(call.func.value)
    given = f"{fetched}, feed_dict={script.source(feed)}" if feed is not None else fetched
    return script.edit([replaced(script, call, f"{script.source(session)}.run({given})")])
