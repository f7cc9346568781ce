"""Cache a tf.data pipeline after what is the same in every pass, before the shuffle."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from unslow.facts.schema import Place, Stack
from unslow.fix.edit.blocks import statement
from unslow.fix.edit.script import Script
from unslow.fix.moves.method_chain import (
    add_link,
    bound_name,
    chain_at,
    chain_root,
    changing_function,
    move_link,
    swap_links,
    swap_statements,
    without_link,
)
from unslow.fix.moves.shapes import statement_above
from unslow.model import Fix, Location, Refusal, Safety
from unslow.syntax.nodes import StatementLoop, dotted, method_of, of_type, own_nodes
from unslow.syntax.uses import jumps, uses

LARGE_CACHE = 1e9  # bytes; a judgement: a machine that trains has as much to spare
_GENERATOR = "from_generator"
_METHODS = {"Map": "map", "Interleave": "interleave", "FlatMap": "flat_map", "Filter": "filter"}


class Plan(Protocol):
    """What a run says about a cache behind a stage."""

    @property
    def fits(self) -> bool: ...
    @property
    def function(self) -> Place | None: ...  # what the stage calls
    @property
    def built(self) -> int: ...  # times that the pipeline is built
    @property
    def moved(self) -> bool: ...  # the stage must be moved in front of a shuffle first
    @property
    def compared(self) -> int: ...  # elements that Python was seen to make again; 0 without Python
    @property
    def reordered(self) -> bool: ...  # Python gives them in another order in every pass
    @property
    def unrepeated(self) -> tuple[int, int] | None: ...  # lines of a repetition, and of a cache
    @property
    def reshuffled(self) -> int: ...  # the buffer of a shuffle that must be added; 0: none


def cache_fix(script: Script, where: Location, kind: str, plan: Plan) -> Fix | Refusal | None:
    """A cache behind a stage."""
    if not plan.fits:
        return no_room(where)
    if plan.built > 1:
        reason = "the pipeline is built again for each pass, and a cache would go with it"
        return Refusal(reason, where)
    if plan.unrepeated is not None:
        return repeat_behind_cache(script, *plan.unrepeated)
    method = _method(script, where.line, kind)
    if method is None:
        return None
    if plan.moved:
        script = _before_shuffle(script, where.line, method)
    fix = _cached(script, where.line, method, plan.function)
    if not plan.compared:
        return fix
    note = f"In this run {plan.compared:,} elements were made a second time, and all were the same."
    if not plan.reordered:
        return replace(fix, safety=Safety.CLOSE, note=note)
    note += " The function no longer chooses the order of later passes: a shuffle does."
    if plan.reshuffled:
        shuffled = f"shuffle({plan.reshuffled})"
        script = add_link(script, where.line, shuffled, method, plan.function)
        fix = _cached(script, where.line, method, plan.function)
    return replace(fix, safety=Safety.REVIEW, note=note)


def cache_after(script: Script, where: Location, kind: str, function: Place | None) -> Fix | None:
    """A cache behind a stage that is the same in every pass by construction."""
    method = _method(script, where.line, kind)
    return _cached(script, where.line, method, function) if method is not None else None


def no_room(where: Location) -> Refusal:
    reason = "the data does not fit into memory, and where a file for it may be is yours to say"
    return Refusal(reason, where)


def _method(script: Script, line: int, kind: str) -> str | None:
    """The method that builds a stage of a kind: a generator's is a `flat_map` of TensorFlow's."""
    method = _METHODS.get(kind)
    if kind != "FlatMap" or script.call_at(line, method) is not None:
        return method
    reason = "a library builds this stage: the program has no line that a cache could stand on"
    script.refuse_if(script.call_at(line, _GENERATOR) is None, reason, line)
    return _GENERATOR


def _cached(script: Script, line: int, method: str, function: Place | None) -> Fix:
    for link in chain_at(script, line, method, function=function):
        name = changing_function(script, link.call) if link.name == method else ""
        reason = f"`{name}` may be another function in each call, and a cache keeps what it gives"
        script.refuse_if(name, reason, link.call)
    edited = add_link(script, line, "cache()", method, function)
    return Fix("keep what is the same in every pass", Safety.EXACT, {script.path: edited.text})


def shared_by_turns(script: Script, line: int, stages: Sequence[Stack]) -> int | None:
    """The first stage that was built before the loop around a loop over a dataset.

    `stages` are the lines that built them, from the one that gives batches to the source; None
    where all of them are built in each turn, or where a pass may end early.
    """
    node = script.statement_at(line)
    if not isinstance(node, ast.For) or jumps(node.body, in_loop=True) is not None:
        return None
    leaves = of_type(own_nodes(node), ast.Break)
    turns = script.loops_around(node)
    if leaves or not turns:
        return None
    for number, stack in enumerate(stages):
        if stack and not any(_is_in(script, place, turns[-1]) for place in stack):
            return number
    return None


def _is_in(script: Script, place: Place, loop: StatementLoop) -> bool:
    node = script.statement_at(place.line) if place.file == script.path else None
    return node is not None and script.within(node, loop)


def cache_behind(script: Script, line: int, kind: str) -> Script | None:
    """Moves a cache that stands right in front of a stage behind it; None where there is none."""
    method = _METHODS.get(kind)
    if method is None or script.call_at(line, method) is None:
        return None
    links = chain_at(script, line, method)
    names = [link.name for link in links]
    if "cache" in names:
        place = names.index("cache")
        if names[place + 1 : place + 2] != [method] or names[place:].count(method) > 1:
            return None
        _require_memory(script, links[place].call)
        return swap_links(script, line, "cache", method)
    is_first = names[0] == method and names.count(method) == 1
    cached = _statement_before(script, line) if is_first else None
    if cached is None:
        return None
    above = chain_at(script, script.recorded(cached))
    if above[-1].name != "cache":
        return None
    _require_memory(script, above[-1].call)
    if len(above) == len(links) == 1:
        return swap_links(script, line, "cache", method)
    rest, _ = without_link(script, script.recorded(cached), "cache")
    return add_link(rest, line, "cache()", after=method)


def repeat_behind_cache(script: Script, repeat: int, cache: int) -> Fix:
    """The repetition that stands in front of a cache moves behind it."""
    upper, lower = statement(script, repeat), statement(script, cache)
    links = chain_at(script, cache, "cache")
    for link in links:
        if link.name == "cache":
            _require_memory(script, link.call)
    if upper is lower:
        edited = move_link(script, cache, "repeat", after="cache")
    else:
        repeated = any(link.name == "repeat" for link in links)
        script.refuse_if(repeated, "what is cached is repeated once more", lower)
        _require_one_pipeline(script, upper, lower)
        edited, repetition = without_link(script, repeat, "repeat")
        edited = add_link(edited, cache, repetition, after="cache")
    return Fix("repeat what is cached", Safety.EXACT, {script.path: edited.text})


def _require_one_pipeline(script: Script, upper: ast.stmt, lower: ast.stmt) -> None:
    """Refuses unless statements build one pipeline under one name that nothing else uses."""
    name, block = bound_name(upper), script.block(upper)[0]
    reason = "the repetition and the cache are not built one after the other"
    script.refuse_if(name is None or lower not in block, reason, lower)
    assert name is not None
    between = block[block.index(upper) + 1 : block.index(lower)]
    builds = all(_target(each) == name for each in between)
    follows = dotted(chain_root(lower)) == name and _is_last_use(script, lower, name)
    script.refuse_if(not builds or not follows, reason, lower)


def _statement_before(script: Script, line: int) -> ast.stmt | None:
    """The statement right above one that gives the same name the dataset it starts from."""
    node = statement(script, line)
    match statement_above(script, node):
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()) as above:
            same = dotted(chain_root(node)) == name and _is_last_use(script, node, name)
            return above if same else None
    return None


def _is_last_use(script: Script, node: ast.stmt, name: str) -> bool:
    """Whether nothing after a statement reads what a name held in front of it."""
    if _target(node) == name:
        return True
    block, index = script.block(node)
    return name not in uses(block[index + 1 :]).reads


def _require_memory(script: Script, call: ast.Call) -> None:
    reason = "the cache is in a file, which an earlier run may have filled in front of the map"
    script.refuse_if(call.args or call.keywords, reason, call)


def _before_shuffle(script: Script, line: int, method: str) -> Script:
    """Move the map before the shuffle: the order does not change an element."""
    names = [link.name for link in chain_at(script, line, method)]
    if "shuffle" in names:
        return swap_links(script, line, "shuffle", method)
    node = statement(script, line)
    above = statement_above(script, node)
    reason = f"the shuffle that must come after `{method}` is built elsewhere"
    above = script.needed(above, reason, node)
    name = _target(above)
    same = name is not None and name == _target(node)
    is_shuffle = isinstance(above, ast.Assign) and method_of(above.value) == "shuffle"
    script.refuse_if(not same or not is_shuffle, reason, node)
    return swap_statements(script, above, node)


def _target(node: ast.stmt) -> str | None:
    """The name of `data = data.method(…)`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) if dotted(chain_root(node)) == name:
            return name
    return None
