"""Fetch a value only in the steps that use it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_before
from unslow.fix.moves.captured_values import called_in_loop
from unslow.fix.moves.reading_condition import only_reader
from unslow.fix.moves.run_every_n import guard
from unslow.fix.moves.shapes import only, reads, stores
from unslow.syntax.nodes import NamedFunction, StatementLoop, argument, dotted, inside, method_of


@dataclass(frozen=True)
class _Rare:
    """A fetched value and the `if` that is all that reads it."""

    place: int  # among the fetches
    name: str
    fetch: ast.expr
    reader: ast.If | None  # none where nothing reads it


def fetch_when_used(script: Script, line: int, places: Sequence[int]) -> Script:
    """`_, big = sess.run([step, big_op])` fetches `big_op` only under the `if` that reads `big`.

    `places` are those of the values among what is fetched.
    """
    statement = script.statement_at(line)
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call() as call):
            fetches = argument(call, "fetches", 0)
        case _:
            raise script.refuse("what is run there is not taken apart into names", line)
    if not isinstance(fetches, ast.List | ast.Tuple) or len(fetches.elts) != len(targets):
        raise script.refuse("what is fetched is not written out", call)
    repeated = _repeated(script, statement)
    if repeated is None:
        raise script.refuse("the statement is not in a loop", statement)
    every = list(enumerate(zip(targets, fetches.elts, strict=True)))
    pairs = [each for each in every if each[0] in places]
    found = [_rare(script, repeated, statement, each) for each in pairs]
    rare = [each for each in found if each is not None]
    if len(rare) < len(pairs) or not rare or len(rare) == len(targets):
        raise script.refuse("every value that is fetched may be read in every step", call)
    return _moved(script, statement, call, rare)


def summaries_rarely(script: Script, line: int, every: int) -> Script:
    """Fetches and writes the summaries of a session's step every n-th time only.

    The line is that of the run, or one of those that write what it fetched.
    """
    calls = inside(_repeated(script, script.statement_at(line)) or [], ast.Call)
    found = only([call for call in calls if method_of(call) == "add_summary"])
    written = script.needed(found, "the loop does not write its summaries in one place", line)
    value = argument(written, "summary", 0)
    binding = only(script.reaching(value)) if isinstance(value, ast.Name) else None
    if binding is None or len(binding.path) != 1:
        reason = "what is written is not fetched together with the step and kept under a name"
        raise script.refuse(reason, written)
    run, place = script.recorded(binding.node), binding.path[0]
    writing = script.statement_of(written)
    return fetch_when_used(guard(script, script.recorded(writing), every), run, [place])


def _repeated(script: Script, node: ast.stmt | None) -> StatementLoop | NamedFunction | None:
    """The loop around a statement, or the function around it that a loop calls."""
    loops = script.loops_around(node) if node is not None else []
    if loops or node is None:
        return loops[0] if loops else None
    function = script.function_of(node)
    return function if function is not None and called_in_loop(script, function) else None


def _rare(
    script: Script,
    repeated: StatementLoop | NamedFunction,
    statement: ast.Assign,
    pair: tuple[int, tuple[ast.expr, ast.expr]],
) -> _Rare | None:
    place, (target, fetch) = pair
    if not isinstance(target, ast.Name) or target.id == "_" or dotted(fetch) is None:
        return None
    scope = script.home(statement)
    if len(stores(scope, target.id)) != 1 or not script.within(statement, repeated):
        return None
    read = reads(scope, target.id)
    reader = only_reader(script, statement, read)
    return _Rare(place, target.id, fetch, reader) if reader or not read else None


def _moved(script: Script, statement: ast.Assign, call: ast.Call, rare: list[_Rare]) -> Script:
    """The run without the rare values, and a run of its own for each of them where it is read."""
    fetches, target = argument(call, "fetches", 0), statement.targets[0]
    assert isinstance(fetches, ast.List | ast.Tuple) and isinstance(target, ast.Tuple)
    gone = {each.place for each in rare}
    kept_fetches = _without(script, fetches.elts, gone)
    alone = len(kept_fetches) == 1
    fetched = kept_fetches[0] if alone else f"[{', '.join(kept_fetches)}]"
    edited = script.edit(
        [
            Splice(*script.span(fetches), fetched),
            Splice(*script.span(target), ", ".join(_without(script, target.elts, gone))),
        ]
    )
    others = [word for word in call.keywords if word.value is not fetches]
    rest = [script.source(each) for each in (*call.args[1:], *others)]
    run = script.source(call.func)
    for each in rare:
        if each.reader is not None:
            made = f"{each.name} = {run}({', '.join([script.source(each.fetch), *rest])})\n"
            edited = insert_before(edited, script.recorded(each.reader.body[0]), made)
    return edited


def _without(script: Script, elements: Sequence[ast.expr], gone: set[int]) -> list[str]:
    """The texts of all elements but those at some places."""
    return [script.source(each) for place, each in enumerate(elements) if place not in gone]
