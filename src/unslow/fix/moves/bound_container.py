"""Bound a list that only grows: keep numbers instead of tensors, or the latest items only."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress

from unslow.fix.edit.blocks import statement
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_after, replaced, spelling
from unslow.fix.moves.call_arguments import keyword_set
from unslow.fix.moves.extract_function import read_afterwards
from unslow.fix.moves.shapes import call_by, is_call, names_in
from unslow.syntax.literals import Obstacle, find_literal
from unslow.syntax.nodes import (
    DEFINITIONS,
    inside,
    is_constant,
    is_stored,
    last_name,
    receiver_of,
    words,
)
from unslow.syntax.uses import bound_in, changed

_DEQUE = "collections.deque"
_CACHES = ("functools.cache", "functools.lru_cache")
_LATEST = 100  # entries: enough for a moving average; a judgement
_DEQUE_METHODS = words("append clear extend")
_DEQUE_FUNCTIONS = words("len sum bool")
_SEQUENCES = ("list", "tuple", "reversed", "sorted", "enumerate", "zip")


def keep_numbers(script: Script, line: int, path: str) -> Script:
    """`losses.append(loss)` becomes `losses.append(float(loss))`.

    Where an element is read as `loss.numpy()`, it is the number itself.
    """
    value = stored_value(script, line, path)
    if is_call(script, value, "float"):
        return script
    _require_own_line(script, value, path)
    edits = [replaced(script, value, f"float({script.source(value)})")]
    for element in _elements_read(script, path):
        match script.parents[element]:
            case ast.Attribute(attr="numpy") as method if call := call_by(script, method):
                edits.append(replaced(script, call, script.source(element)))
            case ast.Attribute():
                raise script.refuse(f"what is in `{path}` is used as tensors here", element)
    for other in script.other_files(last_name(_parsed(path))):
        asked = [other.parents[element] for element in _elements_read(other, path)]
        if any(isinstance(parent, ast.Attribute) for parent in asked):
            raise script.refuse(f"what is in `{path}` is used as tensors in {other.path}", value)
    return script.edit(edits)


def _require_own_line(script: Script, value: ast.expr, path: str) -> None:
    """Raises where the line also fills other lists of the dictionary, which may get no numbers."""
    held = _held(path)
    statement_of = script.statement_of(value)
    keys = [each.value for each in inside(statement_of, ast.Constant)]
    shared = held is not None and held[1] not in keys
    script.refuse_if(shared, f"this line also fills other lists than `{path}`", statement_of)


def bounded_cache(script: Script, line: int) -> Script:
    """`@functools.cache` becomes `@functools.lru_cache(maxsize=100)`."""
    function = script.function_at(line)
    if function is None:
        raise script.refuse("no function is cached there", line)
    cached = [each for each in function.decorator_list if _is_cache(script, each)]
    reason = f"`{function.name}` is not cached by a decorator of Python's"
    script.refuse_if(not cached, reason, function)
    name, imports = spelling(script, "functools.lru_cache", function)
    return script.edit([*imports, Splice(*script.span(cached[0]), f"{name}(maxsize={_LATEST})")])


def _is_cache(script: Script, decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return script.name(called) in _CACHES


def stored_value(script: Script, line: int, path: str) -> ast.expr:
    """What a container gets at a line: by `append`, by `+= [value]`, or at a key."""
    for method in ("append", "appendleft"):
        match _filling(script, line, path, method):
            case ast.Call(args=[value], keywords=[]) if not isinstance(value, ast.Starred):
                return value
    node = statement(script, line)
    match node:
        case ast.Assign(targets=[ast.Subscript()], value=value):
            return value
        case ast.AugAssign(op=ast.Add(), value=ast.List(elts=[value])):
            return value
    raise script.refuse(f"`{path}` does not get one value here", node)


def _filling(script: Script, line: int, path: str, method: str) -> ast.Call | None:
    """The call of a method at a line that fills a container, by the last part of its name."""
    calls = script.calls_at(line, method)
    if len(calls) < 2:
        return calls[0] if calls else None
    name = last_name(_parsed(path))
    own = [call for call in calls if name and last_name(receiver_of(call)) == name]
    reason = f"this line fills several containers, and which is `{path}` is not known"
    script.refuse_if(len(own) != 1, reason, line)
    return own[0]


def _elements_read(script: Script, path: str) -> Iterator[ast.expr]:
    """Where one element of a container is read: by its index or key, or in a loop over it."""
    held = _held(path)
    for use in _uses(script, held[0] if held is not None else path):
        parts = list(_parts_read(script, use))
        if held is not None:  # the parts of the dictionary are lists themselves
            parts = [inner for part in parts for inner in _parts_read(script, part)]
        yield from parts


def _parts_read(script: Script, use: ast.expr) -> Iterator[ast.expr]:
    """The elements of a container that are read at a place."""
    parent = script.parents[use]
    match parent:
        case ast.Subscript(value=value) if value is use and not is_stored(parent):
            if isinstance(parent.slice, ast.Slice):
                yield from _parts_read(script, parent)
            else:
                yield parent
        case ast.Attribute(attr="values" | "items" | "get") if call_by(script, parent) is not None:
            yield from _parts_read(script, parent)
        case ast.Call(func=function) if function is use or is_call(script, parent, *_SEQUENCES):
            yield from _parts_read(script, parent)
        case ast.For(target=target, iter=value, body=body) if value is use:
            yield from _named_in(target, body)
        case ast.comprehension(target=target, iter=value) if value is use:
            yield from _named_in(target, [script.parents[parent]])


def _named_in(target: ast.expr, code: Sequence[ast.AST]) -> Iterator[ast.expr]:
    names = names_in(target)
    yield from (node for node in inside(code, ast.Name) if node.id in names and not is_stored(node))


def keep_latest(script: Script, line: int, path: str) -> Script:
    """`history = []` becomes `history = collections.deque(maxlen=100)`."""
    _append(script, line, path)
    made = _maker(script, line, path)
    for use in _elements(script, path):
        if not is_stored(use) and not _fits_a_deque(script, use):
            raise script.refuse(f"`{path}` is used as a whole here", use)
    name, imports = spelling(script, _DEQUE, made)
    new = f"{name}(maxlen={_LATEST})"
    is_factory = isinstance(made, ast.Name)  # the `list` of `defaultdict(list)`
    new = f"lambda: {new}" if is_factory else new
    return script.edit([*imports, replaced(script, made, new)])


def keep_parts(script: Script, line: int, path: str) -> tuple[Script, list[str]] | None:
    """`results.append(out)` becomes `results.append({"score": out["score"]})`.

    Where elements are only read by these keys; None where they are read in another way.
    """
    value = stored_value(script, line, path)
    uses = [use for use in _uses(script, path) if not is_stored(use)]
    elsewhere = any(_uses(other, path) for other in script.other_files(last_name(_parsed(path))))
    if _held(path) is not None or elsewhere or not isinstance(value, ast.Name):
        return None
    if _is_set_later(script, value) or any(_is_kept_on(script, use) for use in uses):
        return None
    is_sometimes = False
    keys: dict[str, None] = {}
    for use in uses:
        if _fills(script, use) or is_call(script, script.parents[use], "len"):
            continue
        elements = list(_parts_read(script, use))
        found = [_key_read(script, element) for element in elements]
        if not found or None in found:
            return None
        is_sometimes = is_sometimes or any(_is_conditional(script, each) for each in elements)
        keys.update(dict.fromkeys(key for key in found if key is not None))
    if not keys:
        return None
    parts = ", ".join(f"{key}: {value.id}[{key}]" for key in keys)
    if is_sometimes:  # an element may lack what is not read of each
        name, comma = script.fresh("key"), "," if len(keys) == 1 else ""
        among = f"({', '.join(keys)}{comma})"
        parts = f"{name}: {value.id}[{name}] for {name} in {among} if {name} in {value.id}"
    return script.edit([replaced(script, value, f"{{{parts}}}")]), list(keys)


def _is_set_later(script: Script, value: ast.Name) -> bool:
    """Whether a part of what a container gets may be set once it is in there."""
    here, loops = script.statement_of(value), script.loops_around(value)
    home = script.home(value)
    for node in inside(home, ast.stmt):
        if hasattr(node, "body") or value.id not in changed([node]):
            continue
        if node.lineno >= here.lineno:
            return True
        is_new = bool(loops) and value.id in bound_in(loops[0])
        if not is_new and any(script.within(here, loop) for loop in script.loops_around(node)):
            return True
    return False


def _is_kept_on(script: Script, use: ast.expr) -> bool:
    """Whether an element keeps its name behind the loop over a container, and is read there."""
    match script.parents[use]:
        case ast.For(target=target, iter=value) as loop if value is use:
            return bool(names_in(target) & read_afterwards(script, [loop]))
    return False


def _is_conditional(script: Script, element: ast.expr) -> bool:
    """Whether only some elements are read at a place, be it by a condition on the element."""
    for parent in script.ancestors(element):
        if isinstance(parent, ast.If | ast.IfExp | ast.BoolOp | ast.Try | ast.While):
            return True
        if any(each.ifs for each in getattr(parent, "generators", [])):
            return True
        if isinstance(parent, DEFINITIONS):
            return False
    return False


def _key_read(script: Script, element: ast.expr) -> str | None:
    """The source of the key by which an element is read."""
    match script.parents[element]:
        case ast.Subscript(value=read, slice=ast.Constant(value=str()) as key, ctx=ast.Load()) if (
            read is element
        ):
            return script.source(key)
    return None


def keep_tail(script: Script, line: int, path: str) -> tuple[Script, int] | None:
    """Keeps as many of the latest as are ever read; None where more than `h[-9:]` is read.

    A list is cut behind its append, a deque is made with its length.
    """
    call = _append(script, line, path)
    longest = _longest_tail(script, path)
    if not longest:
        return None
    match _beginning(script, line, path):
        case ast.Call(args=[]) as made if is_call(script, made, _DEQUE):
            return keyword_set(script, made, "maxlen", str(longest)), longest
        case made if not _is_empty_list(made):
            return None
    if not isinstance(script.parents[call], ast.Expr):
        return None
    grown = script.source(receiver_of(call) or call)
    return insert_after(script, line, f"del {grown}[:-{longest}]\n"), longest


def _longest_tail(script: Script, path: str) -> int:
    """How many of the latest items are read at most; 0 where others may be read as well."""
    if _held(path) is not None:
        return 0
    if any(_uses(other, path) for other in script.other_files(last_name(_parsed(path)))):
        return 0
    reads = [use for use in _uses(script, path) if not is_stored(use) and not _fills(script, use)]
    lengths = [_tail_length(script, use) for use in reads]
    return max(lengths, default=0) if all(lengths) else 0


def _fills(script: Script, use: ast.expr) -> bool:
    parent = script.parents[use]
    return isinstance(parent, ast.Attribute) and parent.attr in ("append", "clear")


def _tail_length(script: Script, use: ast.expr) -> int:
    """The 9 of `history[-9:]` or `list(history)[-9:]`; 1 of `history[-1]`; 0 of anything else."""
    inner: ast.AST = use
    if is_call(script, script.parents[inner], "list"):
        inner = script.parents[inner]
    match script.parents[inner]:
        case ast.Subscript(
            value=value,
            slice=ast.Slice(ast.UnaryOp(ast.USub(), number), None, None)
            | ast.UnaryOp(ast.USub(), number),
        ) if value is inner:
            with suppress(Obstacle):
                found = find_literal(script, number).value
                return found if isinstance(found, int) and found > 0 else 0
    return 0


def _maker(script: Script, line: int, path: str) -> ast.expr:
    """What the container begins as: an empty list, or what makes one for each key."""
    held = _held(path)
    if held is None:
        return _empty_list(script, line, path)
    whole, key = held
    made = _beginning(script, line, whole)
    match made:
        case ast.Call(args=[ast.Name(id="list") as factory]):
            if is_call(script, made, "collections.defaultdict"):
                return factory
        case ast.Dict(keys=keys, values=values):
            for name, value in zip(keys, values, strict=True):
                if is_constant(name, key) and _is_empty_list(value):
                    return value
    raise script.refuse(f"`{path}` does not begin as an empty list", made)


def _held(path: str) -> tuple[str, object] | None:
    """The dictionary and the key of `self.log['loss']`."""
    match _parsed(path):
        case ast.Subscript(value=ast.Name() | ast.Attribute() as whole, slice=ast.Constant(key)):
            return ast.unparse(whole), key
    return None


def _elements(script: Script, path: str) -> list[ast.expr]:
    """Every place that may use a container; in a dictionary, the items that may be this one."""
    held = _held(path)
    if held is None:
        return _uses(script, path)
    found: list[ast.expr] = []
    for use in _uses(script, held[0]):
        item = script.parents[use]
        if isinstance(item, ast.Subscript) and item.value is use:
            other = isinstance(item.slice, ast.Constant) and item.slice.value != held[1]
            found += [] if other and not _makes_any(script, held[0]) else [item]
        elif not is_stored(use):
            raise script.refuse(f"`{held[0]}` is used as a whole here", use)
    for item in found:
        script.refuse_if(is_stored(item), f"`{path}` is not made in one place", item)
    return found


def _makes_any(script: Script, whole: str) -> bool:
    """Whether one factory makes the containers of all keys."""
    owners = [script.parents[use] for use in _uses(script, whole) if is_stored(use)]
    return any(isinstance(getattr(owner, "value", None), ast.Call) for owner in owners)


def _append(script: Script, line: int, path: str) -> ast.Call:
    match _filling(script, line, path, "append"):
        case ast.Call(args=[value], keywords=[]) as call if not isinstance(value, ast.Starred):
            return call
    raise script.refuse(f"`{path}` does not grow by a plain append", line)


def _empty_list(script: Script, line: int, path: str) -> ast.expr:
    """The empty list that a container begins as."""
    value = _beginning(script, line, path)
    if not _is_empty_list(value):
        raise script.refuse(f"`{path}` does not begin as an empty list", value)
    return value


def _beginning(script: Script, line: int, path: str) -> ast.expr:
    """What a name or attribute is set to, in one place."""
    made = [use for use in _uses(script, path) if is_stored(use)]
    if len(made) != 1:
        raise script.refuse(f"`{path}` is not made in one place", made[0] if made else line)
    owner = script.parents[made[0]]
    match owner:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return value
        case ast.Tuple(elts=names):
            match script.parents[owner]:
                case ast.Assign(value=ast.Tuple(elts=values)) if len(values) == len(names):
                    return values[names.index(made[0])]
    raise script.refuse(f"`{path}` does not begin as an empty list", owner)


def _is_empty_list(value: ast.expr) -> bool:
    return isinstance(value, ast.List) and not value.elts


def _uses(script: Script, path: str) -> list[ast.expr]:
    """Every use of the name; of an attribute by its last part, whatever its holder is called."""
    wanted = _parsed(path)
    if not isinstance(wanted, ast.Attribute | ast.Name):
        raise script.refuse(f"`{path}` is not a plain name")
    return [node for node in script.every(type(wanted)) if last_name(node) == last_name(wanted)]


def _parsed(path: str) -> ast.expr:
    return ast.parse(path, mode="eval").body


def _fits_a_deque(script: Script, use: ast.expr) -> bool:
    """Whether a place does only what a deque does too: append, count, walk, take the last one."""
    match script.parents[use]:
        case ast.Attribute(attr=method):
            return method in _DEQUE_METHODS
        case ast.Call(func=function):
            return script.name(function) in _DEQUE_FUNCTIONS
        case ast.Subscript(value=value, slice=ast.Constant() | ast.UnaryOp()):
            return value is use
        case ast.For(iter=value) | ast.comprehension(iter=value):
            return value is use
    return False
