"""Edit a chain of method calls, such as a tf.data pipeline."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from unslow.facts.schema import Place
from unslow.fix.edit.blocks import extent, removal, statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.shapes import call_by, names_in
from unslow.syntax.nodes import header_calls, method_of, receiver_of, words

# Methods of a dataset that give a dataset.
DATASET_METHODS = words(
    "apply batch bucket_by_sequence_length cache concatenate enumerate filter flat_map"
    " group_by_window ignore_errors interleave map padded_batch prefetch ragged_batch rebatch"
    " rejection_resample repeat scan shard shuffle skip snapshot sparse_batch take take_while"
    " unbatch unique window with_options"
)
_BREAK = re.compile(r"(?:[ \t]*\\)?(?:\r\n|\r|\n)[ \t\f]*$")


@dataclass(frozen=True)
class Link:
    """One `.method(…)` of a chain, with the extent of its text."""

    call: ast.Call
    name: str
    start: int
    dot: int
    end: int


def chain_at(script: Script, line: int, *methods: str, function: Place | None = None) -> list[Link]:
    """The links of the chain at a line that calls one of some methods, in call order.

    Where several chains call the first of them, that on the line is meant, or that which gives it
    a function. Without such a chain it is the longest one.
    """
    chains = _chains_at(script, line)
    calling = [links for links in chains if any(link.name in methods for link in links)]
    if len(calling) > 1:
        wanted = stage_call(script, line, methods[0], function)
        calling = [links for links in calling if any(link.call is wanted for link in links)]
    return max(calling or chains, key=len)


def _chains_at(script: Script, line: int) -> list[list[Link]]:
    node = statement(script, line)
    now = script.now(line) or 0
    tops = [call for call in header_calls(node) if method_of(call) and not _continues(script, call)]
    on_line = [top for top in tops if top.lineno <= now <= (top.end_lineno or 0)]
    chains = [_links(script, top) for top in on_line or tops]
    if not any(chains):
        raise CannotEdit(f"there is no chain of calls on line {line}", line)
    return chains


def dataset_chain_at(script: Script, line: int) -> list[Link]:
    """The links of the one chain at a line that builds a dataset, up to the last that gives one."""
    built = [_up_to_dataset(script, links) for links in _chains_at(script, line)]
    chains = [links for links in built if links]
    ends = [links[-1].call for links in chains]
    outer = [links for links in chains if not set(script.ancestors(links[-1].call)) & set(ends)]
    script.refuse_if(not outer, "no dataset is built by a chain of calls on this line", line)
    script.refuse_if(len(outer) > 1, "more than one dataset is built on this line", line)
    return outer[0]


def _up_to_dataset(script: Script, links: list[Link]) -> list[Link]:
    """The links of a chain without those behind its last dataset: `.as_numpy_iterator()`."""
    gives = [_gives_dataset(script, link) for link in links]
    return links[: len(gives) - gives[::-1].index(True)] if True in gives else []


def _gives_dataset(script: Script, link: Link) -> bool:
    name = script.name(link.call.func)
    is_made = name.startswith("tf.data.") and "iterator" not in link.name
    is_found = link.name.endswith("_dataset_from_directory")
    is_of_library = name.startswith(("tf.", "keras.", "numpy."))  # `np.unique`
    return is_made or is_found or (link.name in DATASET_METHODS and not is_of_library)


def _continues(script: Script, node: ast.Call) -> bool:
    """Whether a call is the object on which another method is called."""
    parent = script.parents[node]
    return isinstance(parent, ast.Attribute) and call_by(script, parent) is not None


def _links(script: Script, top: ast.Call) -> list[Link]:
    links: list[Link] = []
    node: ast.expr = top
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        start = script.span(node.func.value)[1]
        end = script.span(node)[1]
        gap = re.match(r"(?:\s|\\|#[^\r\n]*)*", script.lines.text[start:end])
        assert gap is not None
        links.insert(0, Link(node, node.func.attr, start, start + gap.end(), end))
        node = node.func.value
    return links


def stage_call(script: Script, line: int, method: str, function: Place | None = None) -> ast.Call:
    """The call of a method on a line, that with a function where several are there.

    Refuses where one of several may be meant.
    """
    calls = [each for each in script.calls_at(line, method) if method_of(each) is not None]
    if not calls:
        raise CannotEdit(f"`{method}` is not called on line {line}", line)
    found = calls[0]
    alike = [each for each in calls if each.func.end_lineno == found.func.end_lineno]
    given = [each for each in alike if function and _is_given(script, each, function)]
    if len(given) == 1:
        return given[0]
    reason = f"`.{method}` is called more than once on this line: which call it is is not known"
    script.refuse_if(len(alike) > 1, reason, found)
    return found


def _is_given(script: Script, call: ast.Call, function: Place) -> bool:
    """Whether a call's first argument is the function that is defined at a place."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Lambda):
        return script.path == function.file and script.recorded(first) == function.line
    definition = script.definition(first) if first is not None else None
    if definition is None or definition.source.path != function.file:
        return False
    decorators = getattr(definition.node, "decorator_list", [])
    begin = min((each.lineno for each in decorators), default=definition.node.lineno)
    return definition.source.recorded(begin) == function.line


def changing_function(script: Script, call: ast.Call) -> str:
    """The parameter that a stage calls, where it may be another function in each call of a helper.

    Empty where the stage calls one function only.
    """
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Name):
        return ""
    for binding in script.bindings(first.id, first):
        if isinstance(binding.node, ast.arg):
            given = script.given_anywhere(binding.node)
            if given is None or len({ast.dump(value) for _, value in given}) > 1:
                return first.id
    return ""


def add_link(
    script: Script,
    line: int,
    link: str,
    after: str | None = None,
    function: Place | None = None,
) -> Script:
    """Puts `.link` behind the dataset built on a line, or right behind the call of a method there.

    `function`: what that method is given, to tell it from others on its line. A chain that calls
    the link's method there already is left as it is.
    """
    method = link.lstrip(".").partition("(")[0]
    if after is None:
        links = dataset_chain_at(script, line)
    else:
        links = chain_at(script, line, after, function=function)
    place = len(links) - 1
    if after is not None:
        named = [number for number, item in enumerate(links) if item.name == after]
        script.refuse_if(not named, f"`.{after}` is not called in this chain", links[0].call)
        if len(named) > 1:
            wanted = stage_call(script, line, after, function)
            named = [number for number in named if links[number].call is wanted]
            script.refuse_if(not named, f"`.{after}` is called more than once here", wanted)
        place = named[0]
    follower = links[place + 1] if place + 1 < len(links) else None
    if links[place].name == method or (follower is not None and follower.name == method):
        return script
    text = script.lines.text
    new = f".{link.lstrip('.')}"
    begin = script.span(links[0].call)[0]
    gap = _line_break(script, follower)
    if follower is not None and gap:
        cut, added = follower.dot, new + gap
    else:
        cut, added = links[place].end, _line_break(script, links[place]) + new
    return script.edit([_whole(script, links, text[begin:cut] + added + text[cut : links[-1].end])])


def move_link(script: Script, line: int, link: str, after: str) -> Script:
    """`.repeat(n).map(f).cache()` becomes `.map(f).cache().repeat(n)`, in one chain.

    A chain that has them so is left as it is.
    """
    links = chain_at(script, line, after)
    names = [each.name for each in links]
    once = names.count(link) == names.count(after) == 1
    script.refuse_if(not once, f"`.{link}` and `.{after}` are not called once here", links[0].call)
    if names.index(link) > names.index(after):
        return script
    order = list(links)
    moved = order.pop(names.index(link))
    order.insert(names.index(after), moved)
    return reordered(script, links, order)


def reordered(script: Script, links: Sequence[Link], order: Sequence[Link]) -> Script:
    """The links of a chain in another order; what stands between them stays in its place."""
    text = script.lines.text
    whole = text[script.span(links[0].call)[0] : links[0].start]
    for before, link in zip(links, order, strict=True):
        is_cut = before is not link and text[link.dot] != "."
        script.refuse_if(is_cut, "the chain is cut by parentheses", link.call)
        whole += text[before.start : before.dot] + text[link.dot : link.end]
    return script.edit([_whole(script, links, whole)])


def without_link(script: Script, line: int, link: str) -> tuple[Script, str]:
    """A chain without one of its links, and that link; `ds = ds.link()` goes altogether."""
    links = chain_at(script, line, link)
    found = [each for each in links if each.name == link]
    script.refuse_if(len(found) != 1, f"`.{link}` is not called once in this chain", links[0].call)
    gone, text, node = found[0], script.lines.text, statement(script, line)
    script.refuse_if(text[gone.dot] != ".", "the chain is cut by parentheses", gone.call)
    if _only_link(node) == link:
        return script.edit([removal(script, [node])]), text[gone.dot : gone.end]
    whole = text[script.span(links[0].call)[0] : gone.start] + text[gone.end : links[-1].end]
    return script.edit([_whole(script, links, whole)]), text[gone.dot : gone.end]


def _line_break(script: Script, link: Link | None) -> str:
    """The line break in front of a link, with the indentation behind it."""
    found = _BREAK.search(script.lines.text[link.start : link.dot]) if link is not None else None
    return found.group() if found else ""


def swap_links(script: Script, line: int, first: str, second: str) -> Script:
    """`.map(f).batch(n)` becomes `.batch(n).map(f)`; a chain that has them so is left as it is."""
    links = chain_at(script, line, second, first)
    names = [link.name for link in links]
    pairs = list(itertools.pairwise(names))
    if (first, second) not in pairs:
        if (second, first) in pairs:
            return script
        if names in ([first], [second]):
            return _swap_statements(script, line, first, second)
        raise script.refuse(f"`.{second}` does not follow `.{first}` in this chain", links[0].call)
    found = [place for place, pair in enumerate(pairs) if pair == (first, second)]
    if len(found) > 1:
        now = script.now(line)
        found = [place for place in found if now in _lines(links[place : place + 2])]
    reason = f"`.{first}` and `.{second}` follow each other more than once here"
    script.refuse_if(len(found) != 1, reason, links[0].call)
    place = found[0]
    order = [*links[:place], links[place + 1], links[place], *links[place + 2 :]]
    return reordered(script, links, order)


def _lines(links: list[Link]) -> set[int | None]:
    """The lines on which the methods' names stand."""
    return {link.call.func.end_lineno for link in links}


def _swap_statements(script: Script, line: int, first: str, second: str) -> Script:
    """Swap `ds = ds.map(f)` and `ds = ds.batch(n)` below each other."""
    node = statement(script, line)
    block, index = script.block(node)
    pair = block[index : index + 2]
    if _only_link(node) == second:
        pair = block[max(0, index - 1) : index + 1]
    found = [_only_link(each) for each in pair]
    if found == [second, first]:
        return script
    if found != [first, second] or bound_name(pair[0]) != bound_name(pair[1]):
        raise script.refuse(f"`.{second}` does not follow `.{first}` in this pipeline", node)
    return swap_statements(script, pair[0], pair[1])


def swap_statements(script: Script, upper: ast.stmt, lower: ast.stmt) -> Script:
    """Two neighbouring statements in the other order."""
    text = script.lines.text
    start, end = extent(script, [upper])
    begin, stop = extent(script, [lower])
    parts = (text[begin:stop], text[end:begin], text[start:end])
    ends = all(part.endswith(("\n", "\r")) for part in (parts[0], parts[2]))
    script.refuse_if(not ends, "the two share a line", lower)
    return script.edit([Splice(start, stop, "".join(parts))])


def _only_link(node: ast.stmt) -> str | None:
    """The method of `ds = ds.method(…)`."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)),
        ) if target == name:
            return method
    return None


def _whole(script: Script, links: Sequence[Link], text: str) -> Splice:
    """Replace the whole chain: its links are nested, so none can change alone."""
    return Splice(script.span(links[0].call)[0], links[-1].end, text)


def pipeline_end(script: Script, line: int) -> int:
    """The recorded line of the last statement that builds on the dataset at a line."""
    node = statement(script, line)
    block, index = script.block(node)
    name = bound_name(node)
    followers = [each for each in block[index + 1 :] if name and bound_name(each) == name]
    built = [each for each in followers if name in names_in(chain_root(each))]
    return script.recorded(built[-1] if built else node)


def bound_name(node: ast.stmt) -> str | None:
    """The name of `name = …`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name), *_]):
            return name
    return None


def chain_root(node: ast.stmt) -> ast.AST:
    """What the methods of `name = root.method(…).method(…)` are called on; of a return as well."""
    match node:
        case ast.Assign(value=root) | ast.Return(value=ast.expr() as root):
            while (holder := receiver_of(root)) is not None:
                root = holder
            return root
    return node
