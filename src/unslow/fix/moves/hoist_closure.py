"""Make a nested compiled function once, and pass what it used to find around it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from unslow.fix.edit.blocks import above, indent, reindented, removal, statement, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.syntax.library import Kind
from unslow.syntax.nodes import (
    DEFINITIONS,
    NAMED_FUNCTIONS,
    NamedFunction,
    inside,
    is_stored,
    method_of,
    words,
)
from unslow.syntax.scopes import Binding
from unslow.syntax.uses import uses

_FUNCTION = "tf.function"
_MAKES_STATE = ("tf.Variable", "keras.optimizers.", "keras.layers.", "keras.metrics.", "keras.Seq")
# Methods of arrays that tensors do not have: an array arrives as a tensor.
_ARRAY_ONLY = words("astype reshape mean sum std flatten ravel transpose squeeze tolist item")


@dataclass(frozen=True)
class _Closure:
    """A compiled function in another one, and what it uses of that one."""

    code: NamedFunction
    around: NamedFunction
    assigned: ast.Assign | None  # `step = tf.function(step)`, where it is not decorated
    captured: tuple[str, ...]  # without the object whose method is around it
    holder: str | None  # `self`, where it is used
    calls: tuple[ast.Call, ...]


def closure_once(script: Script, line: int) -> Script:
    """A function that is compiled in each call of another is compiled once, beside that one.

    What it used of the other's names becomes its last arguments; with `self`, it becomes a method.
    """
    node = statement(script, line)
    around = script.function_of(node)
    if around is None or script.loops_around(node):
        raise script.refuse("it is not made directly in a function", node)
    closure = _closure(script, node, around)
    _require_movable(script, closure)
    return script.edit(_edits(script, closure))


def _closure(script: Script, node: ast.stmt, around: NamedFunction) -> _Closure:
    assigned = None
    code: ast.AST | None = node
    match node:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=function, args=[ast.Name(id=name)]),
        ) if script.name(function) == _FUNCTION:
            inner = [each for each in around.body if isinstance(each, NAMED_FUNCTIONS)]
            code = next((each for each in inner if each.name == name), None)
            assigned = node
            if target != name:
                raise script.refuse(f"`{name}` and `{target}` are two names for it", node)
    if not isinstance(code, NAMED_FUNCTIONS) or script.function_of(code) is not around:
        raise script.refuse("the function is not made on this line", node)
    captured = _captured(script, code)
    holder = _holder(script, around)
    is_method = holder is not None and holder in captured
    given = [each.arg for each in around.args.args]
    in_order = sorted(captured, key=lambda name: given.index(name) if name in given else len(given))
    rest = tuple(name for name in in_order if not (is_method and name == holder))
    calls = _calls(script, code, around, assigned)
    return _Closure(code, around, assigned, rest, holder if is_method else None, calls)


def _captured(script: Script, code: NamedFunction) -> list[str]:
    """Names that belong to a function around it, in the order in which it uses them."""
    own = set(inside(code, ast.AST))
    free = uses([code]).reads - {code.name}
    found: dict[str, None] = {}
    for node in inside(code.body, ast.Name):
        if node.id not in free or node.id in found:
            continue
        bindings = [item for item in script.bindings(node.id, node) if item.node not in own]
        if any(script.function_of(item.node) is not None for item in bindings):
            found[node.id] = None
    return list(found)


def _holder(script: Script, around: NamedFunction) -> str | None:
    """The name of the object whose method the function around is."""
    owner = script.class_of_method(around)
    if owner is None or not around.args.args or around.decorator_list:
        return None
    return around.args.args[0].arg


def _calls(
    script: Script, code: NamedFunction, around: NamedFunction, assigned: ast.Assign | None
) -> tuple[ast.Call, ...]:
    """Every call of it; raises where it is used in another way."""
    found = []
    for node in inside(around.body, ast.Name):
        if node.id != code.name or (assigned is not None and script.within(node, assigned)):
            continue
        parent = script.parents[node]
        if not isinstance(parent, ast.Call) or parent.func is not node:
            raise script.refuse(f"`{code.name}` is not only called", node)
        found.append(parent)
    return tuple(found)


def _require_movable(script: Script, closure: _Closure) -> None:
    code = closure.code
    if uses([code]).remote:
        raise script.refuse("it sets names outside of itself", code)
    given = code.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise script.refuse("it takes more than plain arguments", code)
    for decorator in code.decorator_list:
        for name in inside(decorator, ast.Name):
            if name.id in closure.captured:
                raise script.refuse(f"its decorator reads `{name.id}`", decorator)
    for captured in closure.captured:
        _require_argument(script, closure, captured)
    if closure.holder is not None:
        _require_plain_class(script, closure.around)


def _require_argument(script: Script, closure: _Closure, name: str) -> None:
    """Raises where a captured value cannot be handed in, or would be traced anew each time."""
    first = next(node for node in inside(closure.code.body, ast.Name) if node.id == name)
    binding = _only_binding(script, closure, first)
    value = binding.value
    makes = isinstance(value, ast.Call) and script.name(value.func).startswith(_MAKES_STATE)
    if makes or (value is not None and script.kind(first) in (Kind.MODEL, Kind.OPTIMIZER)):
        maker = closure.around.name
        reason = f"`{maker}` makes a new `{name}` each time, and a graph keeps its own"
        raise script.refuse(reason, binding.node)
    if not isinstance(binding.node, ast.arg | ast.Assign | ast.AnnAssign):
        raise script.refuse(f"`{name}` is no value that can be handed in", binding.node)
    for use in inside(closure.code.body, ast.Name):
        if use.id == name and not is_stored(use) and _needs_array(script, use):
            raise script.refuse(f"`{name}` would be a tensor here, not an array", use)


def _only_binding(script: Script, closure: _Closure, first: ast.Name) -> Binding:
    """The one place that sets a captured name, before the function is made."""
    own = set(inside(closure.code, ast.AST))
    bindings = [item for item in script.bindings(first.id, first) if item.node not in own]
    if len(bindings) != 1 or script.function_of(bindings[0].node) is not closure.around:
        raise script.refuse(f"`{first.id}` is set in more than one place", first)
    if script.loops_around(bindings[0].node) or _line(bindings[0]) > closure.code.lineno:
        raise script.refuse(f"`{first.id}` is set again after the function is made", first)
    return bindings[0]


def _line(binding: Binding) -> int:
    return int(getattr(binding.node, "lineno", 0))


def _needs_array(script: Script, use: ast.Name) -> bool:
    parent = script.parents[use]
    if isinstance(parent, ast.Attribute):
        call = script.parents[parent]
        return isinstance(call, ast.Call) and method_of(call) in _ARRAY_ONLY
    return isinstance(parent, ast.Call) and script.name(parent.func).startswith("numpy.")


def _require_plain_class(script: Script, around: NamedFunction) -> None:
    """A compiled method keeps its graphs per object, by the object's identity."""
    owner = script.class_of_method(around)
    assert owner is not None
    names = {node.name for node in owner.body if isinstance(node, NAMED_FUNCTIONS)}
    slots = {node.id for node in inside(owner, ast.Name)}
    if owner.decorator_list or "__eq__" in names or "__slots__" in slots:
        raise script.refuse(
            f"objects of `{owner.name}` may be equal or cannot be told apart", owner
        )


# Writing


def _edits(script: Script, closure: _Closure) -> list[Splice]:
    code, newline = closure.code, script.lines.newline
    is_method = closure.holder is not None
    owners = [each for each in script.ancestors(closure.around) if isinstance(each, DEFINITIONS)]
    top: ast.stmt = closure.around if is_method or not owners else owners[-1]
    name = _name(script, closure)
    taken_out: list[ast.stmt] = [code]
    if closure.assigned is not None:
        taken_out.append(closure.assigned)
    text = _moved(script, closure, top, name)
    start = above(script, top)
    gap = newline if is_method else newline * 2
    edits = [Splice(start, start, text + gap)]
    edits += [_removal(script, closure, node) for node in taken_out]
    return edits + [edit for call in closure.calls for edit in _call(script, closure, call, name)]


def _removal(script: Script, closure: _Closure, node: ast.stmt) -> Splice:
    """Remove a statement, with the blank line after it at the start of a function."""
    found = removal(script, [node])
    rest = script.lines.text[found.end :]
    is_first = closure.around.body[0] is node and not found.text
    if is_first and rest.startswith(script.lines.newline):
        return Splice(found.start, found.end + len(script.lines.newline), "")
    return found


def _name(script: Script, closure: _Closure) -> str:
    """The name it has beside the function around it, where nothing else is called so."""
    own = closure.code.name
    attributes = {node.attr for node in script.every(ast.Attribute)}
    elsewhere = [node for node in script.functions if node.name == own]
    named = [node for node in script.every(ast.Name) if node.id == own]
    outside = [node for node in named if not script.within(node, closure.around)]
    is_free = len(elsewhere) == 1 and not outside and own not in attributes
    return own if is_free else script.fresh(f"compiled_{own.lstrip('_')}")


def _moved(script: Script, closure: _Closure, top: ast.stmt, name: str) -> str:
    """Its text at the new place, with its new arguments."""
    code, margin = closure.code, indent(script, top)
    given = [each.arg for each in code.args.args]
    clash = set(given) & set(closure.captured)
    assert not clash
    first = [closure.holder] if closure.holder is not None else []
    head = f"def {name}({', '.join([*first, *given, *closure.captured])}):"
    decorators = [f"@{script.source(each)}" for each in code.decorator_list]
    if closure.assigned is not None:
        decorators.append(f"@{_compiler(script, closure.assigned)}")
    rows = [f"{margin}{row}{script.lines.newline}" for row in (*decorators, head)]
    body = reindented(script, code.body, margin + unit(script, code))
    return "".join(rows) + body


def _compiler(script: Script, assigned: ast.Assign) -> str:
    """`tf.function`, with the options that the call gives."""
    call = assigned.value
    assert isinstance(call, ast.Call)
    options = ", ".join(script.source(keyword) for keyword in call.keywords)
    own = script.source(call.func)
    return f"{own}({options})" if options else own


def _call(script: Script, closure: _Closure, call: ast.Call, name: str) -> list[Splice]:
    holder = f"{closure.holder}." if closure.holder is not None else ""
    by_name = bool(call.keywords) or any(isinstance(each, ast.Starred) for each in call.args)
    given = [f"{each}={each}" if by_name else each for each in closure.captured]
    end = script.span(call)[1] - 1
    has_any = bool(call.args or call.keywords)
    joined = ", ".join(given)
    comma = ", " if has_any and given and not _ends_with_comma(script, call) else ""
    edits = [Splice(end, end, comma + joined)] if given else []
    if holder or name != closure.code.name:
        edits.append(Splice(*script.span(call.func), f"{holder}{name}"))
    return edits


def _ends_with_comma(script: Script, call: ast.Call) -> bool:
    return script.source(call)[:-1].rstrip().endswith(",")
