"""Compile a method where it is defined, instead of a new function of it wherever it is called."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from unslow.facts.schema import Place
from unslow.fix.edit.blocks import removal
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.captured_values import captured
from unslow.fix.moves.decorators import decorate
from unslow.fix.moves.graph_rules import offence
from unslow.fix.moves.kept_model import is_one_of_a_kind
from unslow.fix.moves.shapes import DRAWS, call_by, mentions
from unslow.syntax.class_families import share_objects
from unslow.syntax.nodes import NamedFunction, inside, parameter_names, values_taken
from unslow.syntax.uses import uses


@dataclass(frozen=True)
class MadeOfMethod:
    """`step = tf.function(member.update)`."""

    assigned: ast.Assign
    name: str
    method: ast.Attribute


@dataclass(frozen=True)
class CompiledMethod:
    script: Script
    name: str
    draws: bool  # random numbers


def compile_method(script: Script, made: MadeOfMethod, code: Place) -> CompiledMethod:
    """The method at `code`, of which a statement makes a function, is decorated.

    Every object has one function then, and the statement's calls are calls of the method.
    """
    owner = script.of(code.file)
    method = owner.function_at(code.line)
    if method is None or method.name != made.method.attr:
        raise script.refuse("what is compiled here is no method of the program", made.assigned)
    _require_compilable(owner, method)
    _require_called_here_only(script, owner, method, made)
    draws = any(owner.name(call.func).startswith(DRAWS) for call in owner.every(ast.Call))
    edited = script.edit([removal(script, [made.assigned]), *_calls(script, made)])
    before = edited.of(code.file)
    return CompiledMethod(edited.along(decorate(before, code.line, {}), before), method.name, draws)


def made_of_method(script: Script, node: ast.stmt | None) -> MadeOfMethod | None:
    """What a statement makes of a method, if it makes a function of one."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(
                func=function, args=[ast.Attribute(value=ast.Name()) as method], keywords=[]
            ),
        ) if script.name(function) == "tf.function":
            return MadeOfMethod(node, name, method)
    return None


def _calls(script: Script, made: MadeOfMethod) -> list[Splice]:
    """The calls by the function's name become calls of the method."""
    holder = made.method.value
    assert isinstance(holder, ast.Name)
    for name in (made.name, holder.id):
        several = len(script.bindings(name, made.assigned)) != 1
        script.refuse_if(several, f"`{name}` gets its value in more than one place", made.assigned)
    around = script.function_of(made.assigned) or script.tree
    found = [use for use in mentions(around.body, made.name) if use not in made.assigned.targets]
    for use in found:
        script.refuse_if(not call_by(script, use), f"`{made.name}` is handed on here", use)
    return [replaced(script, use, script.source(made.method)) for use in found]


def _require_compilable(script: Script, method: NamedFunction) -> None:
    """Raises where a function that is traced once per object may differ from a new one."""
    owner = script.class_of_method(method)
    if owner is None or method.decorator_list:
        raise script.refuse(f"`{method.name}` is no plain method", method)
    problem = offence(script, method.body, values_taken(method), method) or captured(
        script, method.body, parameter_names(method), method
    )
    if problem is not None:
        raise script.refuse(f"`{method.name}`: {problem.reason}", problem.node)
    changing = not is_one_of_a_kind(script, method)
    script.refuse_if(changing, f"what an object of `{owner.name}` holds may change", method)
    slots = [node for node in inside(owner, ast.Name) if node.id == "__slots__"]
    script.refuse_if(slots, "an object with `__slots__` cannot keep a function", owner)
    for name in uses(method.body).reads:
        read = ast.Attribute(ast.Name(""), name)
        changed = any(script.stores_elsewhere(read))
        script.refuse_if(changed, f"another file may set `{name}`", method)


def _require_called_here_only(
    script: Script, owner: Script, method: NamedFunction, made: MadeOfMethod
) -> None:
    """Raises where the method is called in another way, or is another one for some objects."""
    kind = owner.class_of_method(method)
    assert kind is not None
    files = {each.path: each for each in (script, owner, *script.other_files(method.name))}
    for file in files.values():
        for function in file.functions:
            other = file.class_of_method(function)
            if function.name != method.name or other is None:
                continue
            same = (file.path, function.lineno) == (owner.path, method.lineno)
            derived = not same and share_objects(owner, kind.name, other.name)
            reason = f"`{other.name}` has a `{method.name}` of its own"
            script.refuse_if(derived, f"{reason} ({file.path}:{function.lineno})")
        for use in file.every(ast.Attribute):
            if use.attr == method.name and use is not made.method:
                known = file.definition(use) or file.name(use)
                place = f"{file.path}:{use.lineno}"
                script.refuse_if(not known, f"`{ast.unparse(use)}` may be it too ({place})")
