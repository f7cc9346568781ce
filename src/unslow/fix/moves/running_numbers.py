"""Numbers that a loop computes as tensors op by op; NumPy takes a hundredth of the time."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import spelling
from unslow.fix.moves.shapes import call_by, is_call, mentions, names_in, reads, stores
from unslow.syntax.library import TENSOR_LIKE, Kind
from unslow.syntax.nodes import NamedFunction, StatementLoop, inside, is_stored, last_name, words

_FLOAT = "numpy.float32"
_ARRAY = "numpy.asarray"
_STACKS = words(
    "tf.stack tf.concat tf.convert_to_tensor tf.constant numpy.array numpy.stack numpy.concatenate"
)
_OF_NUMPY = ("numpy.array", "numpy.stack", "numpy.concatenate")
_FILLING = ("append", "insert", "reverse")
# Methods that Keras calls while it watches for gradients.
_WATCHED = words("__call__ call compute_loss compute_loss_and_updates train_step")


@dataclass
class Number:
    """A name that a loop computes from elements of fetched tensors and from other such names."""

    name: str
    starts: list[ast.expr] = field(default_factory=list)  # what it is before the loop, or reset to
    statements: list[ast.AST] = field(default_factory=list)  # that compute it
    values: list[ast.expr] = field(default_factory=list)  # what these compute


def running_numbers(script: Script, loop: StatementLoop, tensors: set[str]) -> list[Number]:
    """Names that NumPy may compute in a loop once some tensors are fetched before it."""
    if feeds_gradient(script, loop, set()):
        return []
    names = sorted({node.id for node in inside(loop, ast.Name) if is_stored(node)})
    bound = (_bound(script, loop, name) for name in names)
    found = [number for number in bound if number is not None]
    while True:
        computed = tensors | {number.name for number in found}
        left = [each for each in found if _is_running(script, loop, each, found, computed)]
        if len(left) == len(found):
            return _made_of(tensors, found)
        found = left


def starting_values(script: Script, numbers: list[Number]) -> Iterator[Splice]:
    """The edits that let numbers begin as values of NumPy."""
    for start in dict.fromkeys(start for number in numbers for start in number.starts):
        if isinstance(start, ast.Call) and _is_float(script, start):
            real, imports = spelling(script, _FLOAT, start)
            yield Splice(*script.span(start.func), real)
        elif script.kind(start) in TENSOR_LIKE and not isinstance(start, ast.BinOp):
            imports = []
            yield Splice(*script.span(start), f"{script.source(start)}.numpy()")
        else:
            real, imports = spelling(script, _ARRAY, start)
            yield Splice(*script.span(start), f"{real}({script.source(start)})")
        yield from imports


def stacked_types(
    script: Script, numbers: list[Number], tensors: Mapping[str, str]
) -> Iterator[Splice]:
    """The edits that give what stacks of numbers become the type of the tensor they come from.

    NumPy 1 makes float64 of a float32 and a number of Python.
    """
    stacks: dict[ast.AST, str] = {}
    for number in numbers:
        source = tensors.get(_source(number, numbers, set(tensors)), "")
        for use in reads(script.home(number.statements[0]), number.name) if source else ():
            match script.parents[use]:
                case ast.Call(func=ast.Attribute(value=ast.Name() as holder)) as filling:
                    if last_name(filling.func) in _FILLING:
                        stacks |= dict.fromkeys(_stacks_of(script, holder), source)
    for stack, source in stacks.items():
        cast, _ = spelling(script, "tf.cast", stack)
        is_array = is_call(script, stack, *_OF_NUMPY)
        form = "{}.astype({}.dtype)" if is_array else f"{cast}({{}}, {{}}.dtype)"
        yield Splice(*script.span(stack), form.format(script.source(stack), source))


def _source(number: Number, numbers: list[Number], tensors: set[str]) -> str:
    """The first tensor that a number is computed of."""
    waiting, seen = [number], set[str]()
    while waiting:
        each = waiting.pop()
        seen.add(each.name)
        read = names_in(each.values)
        if read & tensors:
            return min(read & tensors)
        waiting += [other for other in numbers if other.name in read - seen]
    return ""


def _stacks_of(script: Script, holder: ast.Name) -> list[ast.AST]:
    """The calls that make a tensor or an array of a list."""
    found = []
    for use in reads(script.home(holder), holder.id):
        node: ast.AST = use
        while _is_stack_argument(script, node) and not is_call(script, node, *_STACKS):
            node = script.parents[node]
        found += [node] if is_call(script, node, *_STACKS) else []
    return found


def _bound(script: Script, loop: StatementLoop, name: str) -> Number | None:
    """All that binds a name; None where something else than plain assignments does."""
    found = Number(name)
    in_loop = set(ast.walk(loop))
    for node in stores(script.home(loop), name):
        value, statement = _assigned(script, node)
        if value is None:
            return None
        if isinstance(value, ast.Call) and _is_float(script, value):
            found.starts.append(value)
        elif node in in_loop:
            found.statements.append(statement)
            found.values.append(value)
        elif script.kind(value) not in (Kind.NUMBER, Kind.ARRAY):
            found.starts.append(value)
    return found


def _assigned(script: Script, node: ast.Name) -> tuple[ast.expr | None, ast.AST]:
    """What a name is set to, and the statement that does it.

    An update in place is no such assignment: an array that is shared would change with it.
    """
    parent = script.parents[node]
    match parent:
        case ast.Assign(targets=[ast.Name()], value=value):
            return value, parent
        case ast.Tuple(elts=names):
            match script.parents[parent]:
                case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple(elts=values)) as statement:
                    starred = [one for one in (*names, *values) if isinstance(one, ast.Starred)]
                    if len(names) == len(values) and not starred:
                        return values[names.index(node)], statement
    return None, parent


def _is_float(script: Script, call: ast.Call) -> bool:
    """`tf.constant(0.0)`: a float of TensorFlow's usual type."""
    match call:
        case ast.Call(args=[ast.Constant(value=float())], keywords=[]):
            return is_call(script, call, "tf.constant")
    return False


def _is_running(
    script: Script, loop: StatementLoop, number: Number, found: list[Number], computed: set[str]
) -> bool:
    """Whether a value of NumPy will do for a tensor wherever a name is set and read."""
    if not all(_is_computed(script, value, computed) for value in number.values):
        return False
    computing = {statement for each in found for statement in each.statements}
    uses = reads(script.home(loop), number.name)
    return all(script.statement_of(use) in computing or _is_number_use(script, use) for use in uses)


def _is_computed(script: Script, value: ast.expr, computed: set[str]) -> bool:
    """Whether operators alone compute a value from numbers and fetched elements."""
    match value:
        case ast.BinOp(left=left, right=right):
            return all(_is_computed(script, part, computed) for part in (left, right))
        case ast.UnaryOp(operand=operand):
            return _is_computed(script, operand, computed)
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            return name in computed and not names_in(index) & computed
        case ast.Name(id=name):
            return name in computed or script.kind(value) not in TENSOR_LIKE
        case ast.Attribute():
            return script.kind(value) not in TENSOR_LIKE and not names_in(value) & computed
        case ast.Call(args=[argument], keywords=[]) if is_call(script, value, "float", "int"):
            return _is_computed(script, argument, computed)
    return isinstance(value, ast.Constant)


def _made_of(tensors: set[str], found: list[Number]) -> list[Number]:
    """Without the names that have nothing to do with the tensors."""
    made = {each.name for each in found if each.starts or names_in(each.values) & tensors}
    while True:
        more = {each.name for each in found if names_in(each.values) & made} - made
        if not more:
            return [each for each in found if each.name in made]
        made |= more


def _is_number_use(script: Script, node: ast.Name) -> bool:
    """Whether a number will do: it is compared, made Python's, or collected to be stacked."""
    parent = script.parents[node]
    match parent:
        case ast.Compare():
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name() as holder, attr="append" | "insert")):
            return _is_stacked(script, holder)
    return is_call(script, parent, "float", "int")


def _is_stacked(script: Script, holder: ast.Name) -> bool:
    """Whether a list is filled and then made one tensor, and nothing else."""
    uses = reads(script.home(holder), holder.id)
    stacks = [use for use in uses if _is_stack_argument(script, use)]
    others = [use for use in uses if use not in stacks]
    return bool(stacks) and all(_is_filled(script, use) for use in others)


def _is_stack_argument(script: Script, use: ast.AST) -> bool:
    """`tf.stack(out)`, also `tf.stack(out[::-1])` and `tf.stack(list(reversed(out)))`."""
    parent = script.parents[use]
    if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Slice):
        return _is_stack_argument(script, parent)
    if is_call(script, parent, "reversed", "list"):
        return _is_stack_argument(script, parent)
    return is_call(script, parent, *_STACKS)


def _is_filled(script: Script, use: ast.Name) -> bool:
    match script.parents[use]:
        case ast.Attribute(attr=method) as attribute if method in _FILLING:
            return call_by(script, attribute) is not None
    # After `out = tf.stack(out)` the name is a tensor of its own.
    later = [item.assigned for item in script.reaching(use)]
    return bool(later) and all(isinstance(value, ast.Call) for value in later)


def feeds_gradient(script: Script, node: ast.AST, seen: set[tuple[str, str]]) -> bool:
    """Whether a tape may watch some code: NumPy would cut the gradient off."""
    around = (item for each in script.ancestors(node) for item in inside(_contexts(each), ast.Call))
    if any(last_name(call.func) == "GradientTape" for call in around):
        return True
    function = script.function_of(node)
    if function is None or (script.path, function.name) in seen:
        return False
    seen.add((script.path, function.name))
    if script.enclosing_class(function) is not None and function.name in _WATCHED:
        return True
    if _is_handed_on(script, function):
        return True
    return any(
        feeds_gradient(source, call, seen)
        for source in (script, *script.other_files(function.name))
        for call in source.every(ast.Call)
        if last_name(call.func) == function.name
    )


def _is_handed_on(script: Script, function: NamedFunction) -> bool:
    """Whether a function is more than called, so that Keras may call it: as a loss, perhaps."""
    named = [*mentions(script.tree, function.name), *script.every(ast.Attribute)]
    same = [node for node in named if last_name(node) == function.name]
    return any(call_by(script, node) is None for node in same)


def _contexts(node: ast.AST) -> list[ast.expr]:
    return [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
