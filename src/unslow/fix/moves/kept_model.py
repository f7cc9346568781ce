"""Keep the model that a function makes at each of its calls, and give it back as it began."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from unslow.fix.edit.blocks import in_place, indent, laid_out, put_above, reindented, removal, unit
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import insert_before, replaced
from unslow.fix.moves.call_invariance import own_name
from unslow.fix.moves.captured_values import captured
from unslow.fix.moves.shapes import (
    call_by,
    is_call,
    mentions,
    method_named,
    names_in,
    outermost_definition,
    reads,
)
from unslow.fix.moves.tensor_lists import bound_around
from unslow.syntax.given import default_of
from unslow.syntax.nodes import NamedFunction, dotted, inside, is_stored, parameter_names, words
from unslow.syntax.python_types import PythonType, python_type
from unslow.syntax.uses import changed, overlapping, uses

# What is done with a model that leaves nothing of it behind but its weights and its optimizer's.
_HARMLESS = words(
    "fit predict predict_on_batch evaluate train_on_batch test_on_batch summary get_weights"
    " set_weights save_weights load_weights count_params reset_metrics metrics_names"
)
_KEYS = (PythonType.INT, PythonType.FLOAT, PythonType.TEXT)
_DEEPEST = 3  # functions that a model is handed on to; a judgement
_CODE = """\
{store} = {{}}


def {name}({given}):
    \"\"\"The model of the first such call, with the weights that it began with.\"\"\"
    {key} = {keys}
    if {key} not in {store}:
        {model} = None
        {model}.optimizer.build({model}.trainable_variables)
        {state} = [{variable}.numpy() for {variable} in {model}.optimizer.variables]
        {store}[{key}] = {model}, {model}.get_weights(), {state}
    {model}, {weights}, {state} = {store}[{key}]
    {model}.set_weights({weights})
    for {variable}, {value} in zip({model}.optimizer.variables, {state}):
        {variable}.assign({value})
    return {model}
"""
_LOCAL = ("key", "state", "variable", "value", "weights")


def model_kept(script: Script, lines: Sequence[int]) -> Script:
    """`model = build(n)`, in a function that a loop calls, becomes `model = fresh_model(n)`.

    `lines` lead to what makes the model, innermost first. The loop may be in another file.
    """
    problem: CannotEdit | None = None
    for line in reversed(lines):
        node = script.statement_at(line)
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
                try:
                    return _kept(script, node, name)
                except CannotEdit as refused:
                    problem = problem or refused
    at = lines[0] if lines else None
    raise problem or CannotEdit("the model is not kept under one name", at)


def _kept(script: Script, node: ast.Assign, name: str) -> Script:
    function = script.function_of(node)
    if function is None or node not in function.body:
        raise script.refuse("the model is not always made in one function", node)
    _require_stays(script, function, name)
    sized = _sizes_named(script, function, node)
    if sized is not script:
        return model_kept(sized, [script.recorded(node)])
    making = _Making(script, function, name, node)
    keys, given = making.keys, [*making.keys, *making.fixed]
    top = outermost_definition(script, function) or function
    new, store = script.fresh(f"fresh_{name}"), script.fresh(f"first_{name}s")
    words = {each: script.fresh(each) for each in _LOCAL}
    code = _CODE.format(
        store=store, name=new, given=", ".join(given), keys=_tuple(keys), model=name, **words
    )
    margin, step = indent(script, top), unit(script, function)
    text = laid_out(script, code, margin, step)
    rows = "".join(reindented(script, [each], margin + step * 2) for each in making.part)
    text = text.replace(f"{margin}{step * 2}{name} = None{script.lines.newline}", rows)
    made = put_above(script, top, blank_lines=2)
    call = f"{indent(script, node)}{name} = {new}({', '.join(given)}){script.lines.newline}"
    rest = [removal(script, [each]) for each in making.part if each is not node]
    kept = in_place(script, [node], call)
    return script.edit([Splice(made.start, made.end, text + made.text), kept, *rest])


def _tuple(names: Sequence[str]) -> str:
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def _is_compile(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=model), attr="compile"))):
            return model == name
    return False


def _sizes_named(script: Script, function: NamedFunction, node: ast.Assign) -> Script:
    """`build(x.shape[1])` becomes `x_size = x.shape[1]` and `build(x_size)`."""
    for part in inside(node.value, ast.expr):
        local = sorted(names_in(part) & _local_names(function))
        if _is_size(script, part) and local:
            name = script.fresh(f"{local[0]}_size")
            line, code = script.recorded(node), f"{name} = {script.source(part)}\n"
            return insert_before(script.edit([replaced(script, part, name)]), line, code)
    return script


def _local_names(function: NamedFunction) -> set[str]:
    return uses(function.body).writes | parameter_names(function)


def _is_size(script: Script, value: ast.expr) -> bool:
    """`x.shape[1]`, `len(names)`: a number that has a hash, whatever it is the size of."""
    match value:
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant()):
            return True
        case ast.Call(args=[_]):
            return is_call(script, value, "len")
    return False


class _Making:
    """The statements of a function that make a model, and what they are given."""

    def __init__(
        self, script: Script, function: NamedFunction, name: str, node: ast.Assign
    ) -> None:
        self._script, self._function = script, function
        self.keys: list[str] = []  # values that tell one model from another
        self.fixed: list[str] = []  # what is the same in all calls
        compiles = [each for each in function.body if _is_compile(each, name)]
        script.refuse_if(len(compiles) > 1, f"`{name}` is compiled more than once", node)
        self.part: list[ast.stmt] = [node, *compiles]
        self._local = _local_names(function)
        known = {name}
        while unknown := [read for read in self._reads() if read.id not in known]:
            known.add(unknown[0].id)
            self._add(unknown[0])
        self.part.sort(key=function.body.index)
        self._require_own(name)
        found = captured(script, self.part, self._local, function)
        if found is not None:
            raise script.refuse(found.reason.replace("step to step", "call to call"), found.node)

    def _reads(self) -> list[ast.Name]:
        read = (node for node in inside(self.part, ast.Name) if node.id in self._local)
        return [node for node in read if not is_stored(node)]

    def _add(self, read: ast.Name) -> None:
        """Tells how the code gets a name: as a key, made along, or the same in all calls."""
        script, name = self._script, read.id
        makers = [node for node in self._function.body if name in uses([node]).writes]
        if self._is_key(read, makers):
            self.keys.append(name)
        elif makers and all(map(self._is_assignment, makers)):
            self.part += [node for node in makers if node not in self.part]
        elif _is_same_everywhere(script, read):
            self.fixed.append(name)
        else:
            raise script.refuse(f"`{name}` may make another model in each call", read)

    def _is_key(self, read: ast.Name, makers: Sequence[ast.stmt]) -> bool:
        """Whether a value tells one model from another, and can be looked up."""
        if read.id == own_name(self._script, self._function):
            return is_one_of_a_kind(self._script, self._function)
        match makers:
            case [ast.Assign(value=value)] if _is_size(self._script, value):
                return True
        return python_type(self._script, read) in _KEYS

    def _is_assignment(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)

    def _require_own(self, name: str) -> None:
        """Raises where the rest of the function reads what the model is made of."""
        bound = uses(self.part).writes - {name}
        for node in inside(self._function.body, ast.Name):
            elsewhere = self._script.statement_of(node) not in self.part
            if node.id in bound and elsewhere:
                reason = f"`{node.id}`, of which the model is made, is used here too"
                raise self._script.refuse(reason, node)


def is_one_of_a_kind(script: Script, method: NamedFunction) -> bool:
    """Whether objects of a class are told apart, and stay as `__init__` made them."""
    owner = script.class_of_method(method)
    assert owner is not None
    init = method_named(owner, "__init__")
    stores = [
        store
        for read in inside(owner, ast.Attribute)
        for store in (*script.attribute_stores(read), *script.stores_elsewhere(read))
        if init is None or store not in script.parents or not script.within(store, init)
    ]
    return not (stores or owner.decorator_list or method_named(owner, "__eq__"))


def _is_same_everywhere(script: Script, node: ast.Name) -> bool:
    """Whether all calls of a function give the same thing for one of its parameters."""
    match [item.node for item in script.bindings(node.id, node)]:
        case [ast.arg() as parameter]:
            given = script.given_anywhere(parameter) or []
        case _:
            return False
    function = script.function_of(node)
    sites = script.possible_calls(function) if function is not None else []
    default = default_of(function, parameter) if function is not None else None
    if len(given) > len(sites) > 0:  # each of the calls gives it: its default is never used
        given = [each for each in given if each[1] is not default]
    changing = any(bound_around(source, value) for source, value in given)
    paths = {dotted(value) or "" for _, value in given} | {node.id}
    in_place = overlapping(paths, changed([script.tree]))
    return not changing and not in_place and len({ast.dump(value) for _, value in given}) == 1


def _require_stays(
    script: Script, function: NamedFunction, name: str, depth: int = _DEEPEST
) -> None:
    """Raises where a model may be kept, or changed in more than its weights, beyond the call."""
    for use in mentions(function.body, name):
        if not is_stored(use) and not _is_harmless(script, use, depth):
            raise script.refuse(f"`{name}` may be kept or changed here", use)
    bound = [use for use in mentions(function.body, name) if is_stored(use)]
    script.refuse_if(len(bound) > 1, f"`{name}` is set in more than one place", bound[-1])


def _is_harmless(script: Script, use: ast.Name, depth: int) -> bool:
    match script.parents[use]:
        case ast.Delete():
            return True
        case ast.Attribute(attr="compile") as method:
            return call_by(script, method) is not None
        case ast.Attribute(attr=method) if method in _HARMLESS:
            return True
        case ast.Call(func=function) as call:
            return function is use or _takes_only(script, call, use, depth)
    return False


def _takes_only(script: Script, call: ast.Call, use: ast.Name, depth: int) -> bool:
    """Whether a function of this file that a model is handed to leaves it as it is."""
    function = script.own_function(call)
    if function is None or depth == 0:
        return False
    taken = [name for name, value in script.arguments_of(function, call) if value is use]
    used = [read for name in taken for read in reads(function.body, name)]
    return bool(taken) and all(_is_harmless(script, read, depth - 1) for read in used)
