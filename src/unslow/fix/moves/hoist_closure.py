"""Make a nested compiled function once, and pass what it used to find around it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from unslow.fix.edit.blocks import above, indent, reindented, removal, statement, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import spelling
from unslow.fix.moves.call_invariance import own_name
from unslow.fix.moves.captured_values import called_objects, captured, reset_objects
from unslow.fix.moves.graph_rules import ARRAY_ONLY
from unslow.fix.moves.python_parts import effect_of_tracing
from unslow.fix.moves.shapes import call_by, mentions, method_named, names_in, outermost_definition
from unslow.fix.moves.tensor_arguments import needs_python, use_of_number
from unslow.fix.moves.tensor_lists import bound_around
from unslow.syntax.library import Kind
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    NamedFunction,
    has_starred,
    inside,
    method_of,
    parameter_names,
    words,
)
from unslow.syntax.python_types import PythonType, type_in_loops
from unslow.syntax.scopes import Binding
from unslow.syntax.uses import uses

_FUNCTION = "tf.function"
_PARTIAL = "functools.partial"
_MAKES_STATE = ("tf.Variable", "keras.optimizers.", "keras.layers.", "keras.metrics.", "keras.Seq")
_STATELESS = ("tf.", "keras.losses.", "keras.activations.")
_ARRAY_ONLY = ARRAY_ONLY | words("tolist item")


@dataclass(frozen=True)
class _Closure:
    """A compiled function in another one, and what it uses of that one."""

    code: NamedFunction
    around: NamedFunction
    assigned: ast.Assign | None  # `step = tf.function(step)`, where it is not decorated
    captured: tuple[str, ...]  # without the object whose method is around it
    holder: str | None  # `self`, where it is used
    calls: tuple[ast.Call, ...]
    handed_on: tuple[ast.Name, ...]  # where it is returned instead


def closure_once(script: Script, line: int) -> Script:
    """A function that is compiled in each call of another is compiled once, beside that one.

    What it used of the other's names becomes its last arguments; with `self`, it becomes a method.
    Where the other returns it, it returns it with these arguments.
    """
    node = statement(script, line)
    around = script.function_of(node)
    if around is None or script.loops_around(node):
        raise script.refuse("it is not made directly in a function", node)
    reason = "each new object compiles a function of its own: make the object once, before the loop"
    script.refuse_if(around.name == "__init__", reason, node)
    closure = _closure(script, node, around)
    _require_movable(script, closure)
    names = [_PARTIAL] if closure.handed_on else []
    names += ["tf"] if any(_as_tensor(script, closure, name) for name in closure.captured) else []
    imports = [edit for name in names for edit in spelling(script, name, node)[1]]
    return script.edit([*imports, *_edits(script, closure)])


def _closure(script: Script, node: ast.stmt, around: NamedFunction) -> _Closure:
    assigned = node if isinstance(node, ast.Assign) else None
    code = node if assigned is None else _wrapped(script, assigned, around)
    if not isinstance(code, NAMED_FUNCTIONS) or script.function_of(code) is not around:
        raise script.refuse("the function that is compiled is not defined beside this line", node)
    holder = None if around.decorator_list else own_name(script, around)
    names = _captured(script, code)
    # In the order of the outer function's parameters, then in that of their use.
    order = {parameter.arg: place for place, parameter in enumerate(around.args.args)}
    rest = [name for name in names if name != holder]
    given = sorted(rest, key=lambda name: order.get(name, len(order)))
    mentioned = mentions(around.body, code.name)
    uses_of = [use for use in mentioned if script.statement_of(use) is not assigned]
    handed_on = [use for use in uses_of if isinstance(script.parents[use], ast.Return)]
    calls = [
        script.needed(call_by(script, use), f"`{use.id}` is not only called", use)
        for use in uses_of
        if use not in handed_on
    ]
    own = holder if holder in names else None
    return _Closure(code, around, assigned, tuple(given), own, tuple(calls), tuple(handed_on))


def _wrapped(script: Script, node: ast.Assign, around: NamedFunction) -> NamedFunction | None:
    """The function that `step = tf.function(step)` compiles."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=target)], value=ast.Call(func=function, args=[ast.Name(id=name)])
        ) if script.name(function) == _FUNCTION:
            script.refuse_if(target != name, f"`{name}` and `{target}` are two names for it", node)
            inner = [each for each in around.body if isinstance(each, NAMED_FUNCTIONS)]
            return next((each for each in inner if each.name == name), None)
    return None


def _captured(script: Script, code: NamedFunction) -> list[str]:
    """Names that belong to a function around it, in the order in which it uses them."""
    free = uses([code]).reads - {code.name}
    used = [node for node in inside(code.body, ast.Name) if node.id in free]
    mine = [node.id for node in used if any(map(script.function_of, _outside(script, code, node)))]
    return list(dict.fromkeys(mine))


def _outside(script: Script, code: NamedFunction, name: ast.Name) -> list[ast.AST]:
    """What binds a name outside of the function that reads it."""
    binders = [item.node for item in script.bindings(name.id, name)]
    return [node for node in binders if not script.within(node, code)]


def _require_movable(script: Script, closure: _Closure) -> None:
    code = closure.code
    script.refuse_if(uses([code]).remote, "it sets names outside of itself", code)
    plain = ast.arguments([], code.args.args, None, [], [], None, [])
    is_plain = ast.dump(plain) == ast.dump(code.args)
    script.refuse_if(not is_plain, "it takes more than plain arguments", code)
    compiler = code if closure.assigned is None else closure.assigned
    options = [each.arg for each in inside(compiler, ast.keyword)]
    signed = "input_signature" in options and bool(closure.captured)
    script.refuse_if(signed, "its `input_signature` says what it takes", compiler)
    for decorator in code.decorator_list:
        for name in sorted(names_in(decorator) & set(closure.captured)):
            raise script.refuse(f"its decorator reads `{name}`", decorator)
    for name in closure.captured:
        _require_argument(script, closure, name)
    loops = [
        loop for site in script.possible_calls(closure.around) for loop in script.loops_around(site)
    ]
    taken = parameter_names(code) | {*closure.captured, closure.holder or ""}
    changing = captured(script, code.body, taken, code) or reset_objects(script, code.body, loops)
    if changing is not None:
        raise script.refuse(changing.reason, changing.node)
    effect = effect_of_tracing(script, code.body, parameter_names(code))
    if effect is not None:
        raise script.refuse(*effect)
    if closure.holder is not None:
        _require_plain_class(script, closure.around)


def _require_argument(script: Script, closure: _Closure, name: str) -> None:
    """Raises where a captured value cannot be handed in, or would be traced anew each time."""
    uses_of = mentions(closure.code.body, name)
    first = uses_of[0]
    binding = _only_binding(script, closure, first)
    value = binding.value
    makes = isinstance(value, ast.Call) and script.name(value.func).startswith(_MAKES_STATE)
    if makes or (value is not None and script.kind(first) in (Kind.MODEL, Kind.OPTIMIZER)):
        maker = closure.around.name
        reason = f"`{maker}` makes a new `{name}` each time, and a graph keeps its own"
        raise script.refuse(reason, binding.node)
    _require_one_object(script, closure, binding)
    can_be_given = isinstance(binding.node, ast.arg | ast.Assign | ast.AnnAssign)
    reason = f"`{name}` is no value that can be handed in"
    script.refuse_if(not can_be_given, reason, binding.node)
    given = script.values_given(binding.node) if isinstance(binding.node, ast.arg) else [value]
    arrays = any(each is not None and _is_of_numpy(script, each) for each in given)
    for use in uses_of:
        reason = f"`{name}` would be a tensor here, not an array"
        script.refuse_if(arrays or _needs_array(script, use), reason, use)
    parameters = parameter_names(closure.code)
    kinds = {use_of_number(closure.code, use, parameters) for use in uses_of}
    values = _changing_numbers(script, binding)
    types = [type_in_loops(script, value, script.loops_around(value)) for value in values]
    if values and needs_python(kinds, PythonType.INT in types):
        reason = f"`{name}` changes, and `{closure.code.name}` needs it as a Python number"
        raise script.refuse(reason, values[0])


def _is_of_numpy(script: Script, value: ast.AST) -> bool:
    """Whether NumPy makes a value: beside a tensor it takes that one's type, unlike a tensor."""
    is_made = isinstance(value, ast.Call) and script.name(value.func).startswith("numpy.")
    known = isinstance(value, ast.expr) and script.kind(value) is Kind.ARRAY
    return is_made or known or method_of(value) == "astype"


def _require_one_object(script: Script, closure: _Closure, binding: Binding) -> None:
    """Raises where a model or optimizer may be another one: only a first call makes variables."""
    name, around = binding.name, closure.around
    if name not in called_objects(closure.code.body)[0]:
        return
    match binding.assigned:
        case ast.Lambda() as made:
            raise script.refuse(f"`{name}` is made anew each time, and would be traced anew", made)
        case ast.Call(func=function) as made if not script.name(function).startswith(_STATELESS):
            reason = f"`{around.name}` makes a new `{name}` each time, and a graph keeps its own"
            raise script.refuse(reason, made)
    parameter = binding.node
    given = script.values_given(parameter) if isinstance(parameter, ast.arg) else []
    others = [value for value in given if not _is_function(script, value)]
    changing = [value for value in others if bound_around(script, value)]
    several = len({ast.dump(value) for value in others}) > 1
    reason = f"`{around.name}` is given more than one `{name}`, and each needs a graph of its own"
    script.refuse_if(several or changing, reason, next(iter(others), None))


def _is_function(script: Script, value: ast.expr) -> bool:
    found = script.definition(value)
    return found is not None and isinstance(found.node, NAMED_FUNCTIONS)


def _changing_numbers(script: Script, binding: Binding) -> list[ast.expr]:
    """The numbers that a parameter is given and that change in loops around the call."""
    parameter = binding.node
    given = script.values_given(parameter) if isinstance(parameter, ast.arg) else []
    changing = [value for value in given if bound_around(script, value)]
    types = [type_in_loops(script, value, script.loops_around(value)) for value in changing]
    return changing if types and set(types) <= {PythonType.INT, PythonType.FLOAT} else []


def _as_tensor(script: Script, closure: _Closure, name: str) -> str:
    """How a number that changes between the calls is handed in; nothing for other values."""
    first = mentions(closure.code.body, name)[0]
    values = _changing_numbers(script, _only_binding(script, closure, first))
    if not values:
        return ""
    known = script.alias("tf", closure.code) or "tf"
    types = [type_in_loops(script, value, script.loops_around(value)) for value in values]
    # Next to float tensors a Python int becomes a float; an int tensor would not.
    kind = use_of_number(closure.code, first, parameter_names(closure.code))
    is_int = PythonType.INT in types and kind == "computed"
    return f"{known}.constant({name}, {known}.float32)" if is_int else f"{known}.constant({name})"


def _only_binding(script: Script, closure: _Closure, first: ast.Name) -> Binding:
    """The one place that sets a captured name, before the function is made."""
    outside = _outside(script, closure.code, first)
    bindings = [item for item in script.bindings(first.id, first) if item.node in outside]
    if len(bindings) != 1 or script.function_of(bindings[0].node) is not closure.around:
        raise script.refuse(f"`{first.id}` is set in more than one place", first)
    is_later = int(getattr(bindings[0].node, "lineno", 0)) > closure.code.lineno
    if script.loops_around(bindings[0].node) or is_later:
        raise script.refuse(f"`{first.id}` is set again after the function is made", first)
    return bindings[0]


def _needs_array(script: Script, use: ast.Name) -> bool:
    match script.parents[use]:
        case ast.Attribute(attr=method) as parent:
            return method in _ARRAY_ONLY and call_by(script, parent) is not None
        case ast.Call(func=function):
            return script.name(function).startswith("numpy.")
    return False


def _require_plain_class(script: Script, around: NamedFunction) -> None:
    """A compiled method keeps its graphs per object, by the object's identity."""
    owner = script.class_of_method(around)
    assert owner is not None
    compares = owner.decorator_list or method_named(owner, "__eq__")
    reason = f"objects of `{owner.name}` may be equal or cannot be told apart"
    script.refuse_if(compares or "__slots__" in names_in(owner), reason, owner)


def _edits(script: Script, closure: _Closure) -> list[Splice]:
    code, newline = closure.code, script.lines.newline
    is_method = closure.holder is not None
    top = None if is_method else outermost_definition(script, closure.around)
    top = top or closure.around
    name = _name(script, closure)
    taken_out = [node for node in (code, closure.assigned) if node is not None]
    text = _moved(script, closure, top, name)
    start = above(script, top)
    gap = newline if is_method else newline * 2
    edits = [Splice(start, start, text + gap)]
    edits += [_removal(script, closure, node) for node in taken_out]
    edits += [_handed_on(script, closure, use, name) for use in closure.handed_on]
    return edits + [edit for call in closure.calls for edit in _call(script, closure, call, name)]


def _handed_on(script: Script, closure: _Closure, use: ast.Name, name: str) -> Splice:
    """`return step` becomes `return functools.partial(step, model=model)`."""
    called = f"{closure.holder}.{name}" if closure.holder is not None else name
    given = [f"{each}={_as_tensor(script, closure, each) or each}" for each in closure.captured]
    partial, _ = spelling(script, _PARTIAL, use)
    text = f"{partial}({', '.join([called, *given])})" if given else called
    return Splice(*script.span(use), text)


def _removal(script: Script, closure: _Closure, node: ast.stmt) -> Splice:
    """Remove a statement, with the blank line after it if it starts a function or follows one."""
    found = removal(script, [node])
    rest = script.lines.text[found.end :]
    newline = script.lines.newline
    is_first = closure.around.body[0] is node
    is_apart = is_first or script.lines.text[: found.start].endswith(newline * 2)
    if is_apart and not found.text and rest.startswith(newline):
        return Splice(found.start, found.end + len(newline), "")
    return found


def _name(script: Script, closure: _Closure) -> str:
    """The name it has beside the function around it, where nothing else is called so."""
    own = closure.code.name
    attributes = {node.attr for node in script.every(ast.Attribute)}
    defined = [node.name for node in script.functions].count(own)
    outside = len(mentions(script.tree, own)) > len(mentions(closure.around, own))
    is_free = defined == 1 and not outside and own not in attributes
    return own if is_free else script.fresh(f"compiled_{own.lstrip('_')}")


def _moved(script: Script, closure: _Closure, top: ast.stmt, name: str) -> str:
    """Its text at the new place, with its new arguments."""
    code, margin = closure.code, indent(script, top)
    given = [each.arg for each in code.args.args]
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
    by_name = call.keywords or has_starred(call.args)
    values = {each: _as_tensor(script, closure, each) or each for each in closure.captured}
    given = [f"{each}={value}" if by_name else value for each, value in values.items()]
    end = script.span(call)[1] - 1
    opens = script.source(call)[:-1].rstrip().endswith(("(", ","))
    edits = [Splice(end, end, ("" if opens else ", ") + ", ".join(given))] if given else []
    called = f"{closure.holder}.{name}" if closure.holder is not None else name
    if called != closure.code.name:
        edits.append(Splice(*script.span(call.func), called))
    return edits
