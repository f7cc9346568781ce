"""Bound a list that only grows: keep numbers instead of tensors, or the latest items only."""

from __future__ import annotations

import ast
from contextlib import suppress

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_after, replaced, spelling
from unslow.fix.moves.call_arguments import keyword_set
from unslow.fix.moves.container_uses import (
    elements_read,
    filling,
    fills,
    held_by_key,
    parsed,
    stored_value,
    uses_of,
)
from unslow.fix.moves.shapes import call_by, is_call
from unslow.syntax.literals import Obstacle, find_literal
from unslow.syntax.nodes import (
    inside,
    is_constant,
    is_stored,
    last_name,
    receiver_of,
    words,
)

_DEQUE = "collections.deque"
_CACHES = ("functools.cache", "functools.lru_cache")
_LATEST = 100  # entries: enough for a moving average; a judgement
_DEQUE_METHODS = words("append clear extend")
_DEQUE_FUNCTIONS = words("len sum bool")


def keep_numbers(script: Script, line: int, path: str) -> Script:
    """`losses.append(loss)` becomes `losses.append(float(loss))`.

    Where an element is read as `loss.numpy()`, it is the number itself.
    """
    value = stored_value(script, line, path)
    if is_call(script, value, "float"):
        return script
    _require_own_line(script, value, path)
    edits = [replaced(script, value, f"float({script.source(value)})")]
    for element in elements_read(script, path):
        match script.parents[element]:
            case ast.Attribute(attr="numpy") as method if call := call_by(script, method):
                edits.append(replaced(script, call, script.source(element)))
            case ast.Attribute():
                raise script.refuse(f"what is in `{path}` is used as tensors here", element)
    for other in script.other_files(last_name(parsed(path))):
        asked = [other.parents[element] for element in elements_read(other, path)]
        if any(isinstance(parent, ast.Attribute) for parent in asked):
            raise script.refuse(f"what is in `{path}` is used as tensors in {other.path}", value)
    return script.edit(edits)


def _require_own_line(script: Script, value: ast.expr, path: str) -> None:
    """Raises where the line also fills other lists of the dictionary, which may get no numbers."""
    held = held_by_key(path)
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
    if held_by_key(path) is not None:
        return 0
    if any(uses_of(other, path) for other in script.other_files(last_name(parsed(path)))):
        return 0
    reads = [use for use in uses_of(script, path) if not is_stored(use) and not fills(script, use)]
    lengths = [_tail_length(script, use) for use in reads]
    return max(lengths, default=0) if all(lengths) else 0


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
    held = held_by_key(path)
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


def _elements(script: Script, path: str) -> list[ast.expr]:
    """Every place that may use a container; in a dictionary, the items that may be this one."""
    held = held_by_key(path)
    if held is None:
        return uses_of(script, path)
    found: list[ast.expr] = []
    for use in uses_of(script, held[0]):
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
    owners = [script.parents[use] for use in uses_of(script, whole) if is_stored(use)]
    return any(isinstance(getattr(owner, "value", None), ast.Call) for owner in owners)


def _append(script: Script, line: int, path: str) -> ast.Call:
    match filling(script, line, path, "append"):
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
    made = [use for use in uses_of(script, path) if is_stored(use)]
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
