"""Make an object that holds a compiled function once, and start it again in each turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unslow.fix.edit.blocks import above, indent, reindented, removal
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.captured_values import captured, reset_objects
from unslow.fix.moves.hoist import dependence
from unslow.fix.moves.shapes import (
    calls_of,
    is_call,
    is_text,
    names_in,
    only,
    outermost_loop,
    reads,
    scope_of,
    stores,
)
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    NamedFunction,
    StatementLoop,
    given_values,
    inside,
    last_name,
    parameter_names,
    values_taken,
    words,
)
from unslow.syntax.uses import bound_in

_FUNCTION = "tf.function"
_CONTAINERS = words("list dict set collections.deque collections.defaultdict collections.Counter")


@dataclass(frozen=True)
class _Attribute:
    """What `__init__` sets an attribute of the new object to."""

    name: str
    value: ast.expr
    target: ast.Attribute


def object_once(script: Script, line: int) -> Script:
    """An object whose `__init__` compiles a function at a line is made before the loop.

    What it starts with, such as empty lists, is set again in each turn, where it was made.
    """
    node = script.statement_at(line)
    init = script.function_of(node) if node is not None else None
    owner = script.class_of_method(init) if init is not None else None
    if init is None or owner is None or init.name != "__init__":
        raise script.refuse("it is not made in the `__init__` of a class", line)
    made = _made(script, owner)
    name = last_name(made.targets[0])
    _require_own_methods(script, made, name)
    again = [each for each in _attributes(script, init) if _starts_again(script, init, each)]
    loops = script.loops_around(made)
    for method in _compiled(script, owner, init):
        _require_constant(script, method, {each.name for each in again}, loops)
    loop = outermost_loop(script, made, lambda each: _obstacle(script, each, made))
    assert loop is not None
    start = above(script, loop)
    rows = [f"{name}.{each.name} = {script.source(each.value)}" for each in again]
    margin = script.lines.newline + indent(script, made)
    reset = Splice(*script.span(made), margin.join(rows)) if rows else removal(script, [made])
    return script.edit(
        [Splice(start, start, reindented(script, [made], indent(script, loop))), reset]
    )


def _obstacle(script: Script, loop: StatementLoop, made: ast.Assign) -> CannotEdit | None:
    """Why the object cannot be made before a loop: it would be given something else."""
    assert isinstance(made.value, ast.Call)
    bound = bound_in(loop)
    for value in given_values(made.value):
        # The object keeps what a name holds, so that only another value for the name matters.
        by_name = isinstance(value, ast.Name)
        changing = min(names_in(value) & bound, default=None)
        changing = changing or (None if by_name else dependence(script, loop, [value]))
        if changing is not None:
            return script.refuse(f"it depends on `{changing}`, which changes in the loop", made)
    return None


def _made(script: Script, owner: ast.ClassDef) -> ast.Assign:
    """The one statement that makes an object of the class, in a loop."""
    bases = [base for base in owner.bases if script.name(base) not in ("object", "tf.Module")]
    for base in bases:
        raise script.refuse(f"`{script.source(base)}` may do more when an object is made", base)
    mentions = [node for node in script.every(ast.Name) if node.id == owner.name]
    site = script.needed(
        only(mentions), f"`{owner.name}` is not made in one place of this file", owner
    )
    match script.statement_of(site):
        case ast.Assign(targets=[ast.Name()], value=ast.Call(func=made)) as found if made is site:
            loops = script.loops_around(found)
            is_direct = bool(loops) and script.parents[found] is loops[0]
            script.refuse_if(not is_direct, "it is not made directly in a loop", found)
            return found
    raise script.refuse("the new object is not kept under a name of its own", site)


def _require_own_methods(script: Script, made: ast.Assign, name: str) -> None:
    """Raises where the object itself is kept or handed on: the next turn would change it."""
    scope, loop = scope_of(script, made), script.loops_around(made)[0]
    reason = f"`{name}` is set in more than one place"
    script.refuse_if(len(stores(scope, name)) > 1, reason, made)
    for use in reads(scope, name):
        kept = not isinstance(script.parents[use], ast.Attribute)
        script.refuse_if(kept, f"`{name}` is kept or handed on here", use)
        earlier = use.lineno < made.lineno and script.within(use, loop)
        script.refuse_if(earlier, f"`{name}` of the turn before is used here", use)


def _attributes(script: Script, init: NamedFunction) -> Iterator[_Attribute]:
    """All that `__init__` sets; raises where it does more than that."""
    own = init.args.args[0].arg
    for node in init.body:
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super"))))
            ):
                continue
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = list(zip(targets, values, strict=False))
            case ast.Assign(targets=targets, value=value):
                pairs = [(target, value) for target in targets]
            case ast.AnnAssign(target=annotated, value=ast.expr() as value):
                pairs = [(annotated, value)]
            case _ if is_text(node):
                continue
            case _:
                raise script.refuse("`__init__` does more than set attributes", node)
        for target, value in pairs:
            match target:
                case ast.Attribute(value=ast.Name(id=holder), attr=name) if holder == own:
                    yield _Attribute(name, value, target)
                case _:
                    raise script.refuse("`__init__` does more than set attributes", node)


def _starts_again(script: Script, init: NamedFunction, attribute: _Attribute) -> bool:
    """Whether each turn needs the attribute as it was; raises where that cannot be told."""
    value, name = attribute.value, attribute.name
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=function) if script.name(function) in _CONTAINERS:
            script.refuse_if(value.args, f"`{name}` does not begin empty", value)
            return True
    others = [store for store in script.attribute_stores(name) if store is not attribute.target]
    is_set_again = any(_may_be_of(script, script.class_of_method(init), store) for store in others)
    if isinstance(value, ast.Constant):
        return is_set_again
    is_given = isinstance(value, ast.Name) and value.id in parameter_names(init)
    is_kept = is_given or is_call(script, value, _FUNCTION)
    script.refuse_if(not is_kept, f"each object has a `{name}` of its own", value)
    script.refuse_if(is_set_again, f"`{name}` is set again elsewhere", value)
    return False


def _may_be_of(script: Script, owner: ast.ClassDef | None, store: ast.Attribute) -> bool:
    """Whether an attribute may be set on an object of a class: not on `self` of another one."""
    if not isinstance(store.value, ast.Name):
        return True
    return script.class_of_self(store.value.id, script.scope_at(store)) in (None, owner)


def _compiled(script: Script, owner: ast.ClassDef, init: NamedFunction) -> Iterator[NamedFunction]:
    """The methods of the class that its `__init__` compiles."""
    calls = calls_of(script, inside(init, ast.Call), _FUNCTION)
    names = {last_name(call.args[0]) for call in calls if call.args}
    for node in owner.body:
        if isinstance(node, NAMED_FUNCTIONS) and node.name in names:
            yield node


def _require_constant(
    script: Script, method: NamedFunction, again: set[str], loops: Sequence[StatementLoop]
) -> None:
    """Raises where compiled code reads what is not the same in each turn: a graph keeps it."""
    body = method.body
    changing = captured(script, body, values_taken(method), method)
    changing = changing or reset_objects(script, body, loops)
    if changing is not None:
        raise script.refuse(changing.reason, changing.node)
    for read in inside(body, ast.Attribute):
        reason = f"the compiled code uses `{read.attr}`, which starts again in each turn"
        script.refuse_if(read.attr in again, reason, read)
