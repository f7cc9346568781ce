"""A `skip` or `shard` in front of the `map` whose elements it throws away."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import above, indent, removal
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.moves.method_chain import Link, bound_name, chain_at, reordered, swap_links
from unslow.fix.moves.shapes import only, reads
from unslow.model import Fix, Safety
from unslow.syntax.nodes import inside, receiver_of

_ONE_TO_ONE = ("map", "prefetch")  # methods that give one element for each
_NOTE = (
    "The function draws random numbers or runs Python: what it gives for an element may depend on "
    "the calls before."
)


def discard_first(script: Script, line: int, method: str, work: int, same: bool) -> Fix:
    """The `skip` (or `shard`) at a line moves in front of the map at another one.

    `same`: the function gives the same for an element whatever it was called for before.
    """
    links = chain_at(script, line, method)
    names = [link.name for link in links]
    once = names.count(method) == 1
    script.refuse_if(not once, f"`.{method}` is not called once in this chain", links[0].call)
    place = names.index(method)
    run = _run_before(links, place)
    maps = script.calls_at(work, "map")
    script.refuse_if(not maps, f"`map` is not called on line {work}", work)
    if any(link.call in maps for link in run):
        first = links.index(run[0])
        order = [*links[:first], links[place], *run, *links[place + 1 :]]
        edited = reordered(script, links, order)
    else:
        edited = _across_names(script, links, place, maps)
    safety = Safety.EXACT if same else Safety.REVIEW
    title = f"`{method}` in front of the map"
    return Fix(title, safety, {script.path: edited.text}, "" if same else _NOTE)


def _run_before(links: Sequence[Link], place: int) -> Sequence[Link]:
    """The links right in front of one that give one element for each, from a map on."""
    start = place
    while start and links[start - 1].name in _ONE_TO_ONE:
        start -= 1
    while start < place and links[start].name != "map":
        start += 1
    return links[start:place]


def _across_names(
    script: Script, links: Sequence[Link], place: int, maps: Sequence[ast.Call]
) -> Script:
    """`made = data.map(f)`, `kept = made.skip(n)`: the second becomes `data.skip(n).map(f)`."""
    moved = links[place]
    name = moved.call.func
    assert isinstance(name, ast.Attribute)
    root = name.value
    reason = "the map is not in front of it in this chain or under a name of the same function"
    is_name = place == 0 and isinstance(root, ast.Name)
    script.refuse_if(not is_name, reason, moved.call)
    assert isinstance(root, ast.Name)
    building = only([binding.node for binding in script.reaching(root)])
    is_local = building is not None and script.home(building) is script.home(root)
    script.refuse_if(not is_local, reason, root)
    if not isinstance(building, ast.Assign) or bound_name(building) != root.id:
        raise script.refuse(reason, root)
    is_chain = receiver_of(building.value) is not None
    script.refuse_if(not is_chain, reason, building)
    above_links = chain_at(script, script.recorded(building))
    run = _run_before(above_links, len(above_links))
    script.refuse_if(not any(link.call in maps for link in run), reason, maps[0])
    script.refuse_if(above_links[-1].call is not building.value, reason, building)
    _require_same_values(script, run)
    if _follows(script, building, moved.call) and _is_only_link(links, above_links):
        return swap_links(script, script.recorded(moved.call), "map", moved.name)
    if _is_only_reader(script, root, building):
        return _moved_below(script, building, run, root, moved)
    return _from_named_source(script, building, run, root, moved)


def _is_only_link(links: Sequence[Link], above_links: Sequence[Link]) -> bool:
    return len(links) == len(above_links) == 1


def _follows(script: Script, upper: ast.Assign, node: ast.AST) -> bool:
    """Whether a statement right below another one gives its name a new value."""
    lower = script.statement(node)
    block, index = script.block(upper)
    if block[index + 1 : index + 2] != [lower] or not isinstance(lower, ast.Assign):
        return False
    return bound_name(lower) == bound_name(upper)


def _require_same_values(script: Script, run: Sequence[Link]) -> None:
    """Refuses where a name in the arguments may have another value further down."""
    for link in run:
        for name in inside([*link.call.args, *link.call.keywords], ast.Name):
            bindings = script.bindings(name.id, name)
            reason = f"`{name.id}` has several values"
            script.refuse_if(len(bindings) > 1, reason, name)


def _is_only_reader(script: Script, root: ast.Name, building: ast.Assign) -> bool:
    same = reads(script.tree, root.id)
    return not any(
        binding.node is building
        for other in same
        if other is not root
        for binding in script.reaching(other)
    )


def _moved_below(
    script: Script, building: ast.Assign, run: Sequence[Link], root: ast.Name, moved: Link
) -> Script:
    """The maps leave the statement that nothing else reads."""
    source = run[0].call.func
    assert isinstance(source, ast.Attribute)
    is_nothing_left = isinstance(source.value, ast.Name) and source.value.id == root.id
    start, end = script.span(building.value)
    gone = Splice(start, end, script.lines.text[start : run[0].start])
    gone = removal(script, [building]) if is_nothing_left else gone
    added = Splice(script.span(root)[0], moved.end, _starting_with(script, root.id, moved, run))
    return script.edit([gone, added])


def _starting_with(script: Script, name: str, moved: Link, run: Sequence[Link]) -> str:
    text = script.lines.text
    made = "".join(text[link.dot : link.end] for link in run)
    return f"{name}{text[moved.start : moved.end]}{made}"


def _from_named_source(
    script: Script, building: ast.Assign, run: Sequence[Link], root: ast.Name, moved: Link
) -> Script:
    """What the maps read gets a name, and the rest of the pipeline starts from it."""
    text = script.lines.text
    source = run[0].call.func
    assert isinstance(source, ast.Attribute)
    start, end = script.span(building.value)[0], run[0].start
    splices = []
    kept = source.value
    if isinstance(kept, ast.Name) and len(script.bindings(kept.id, kept)) == 1:
        name = kept.id
    else:
        name = script.fresh("elements")
        position, value = above(script, building), text[start:end]
        value = f"({value})" if "\n" in value else value
        line = f"{indent(script, building)}{name} = {value}{script.lines.newline}"
        splices = [Splice(position, position, line), Splice(start, end, name)]
    begin = script.span(root)[0]
    new = _starting_with(script, name, moved, run)
    return script.edit([*splices, Splice(begin, moved.end, new)])
