"""What keeps code from running as a compiled graph, with the node and the reason."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from unslow.fix.edit.script import Script
from unslow.fix.moves.python_parts import (
    DRAWS_ONCE,
    draws_in_python,
    effect_of,
    needs_no_tensor,
)
from unslow.fix.moves.shapes import method_named
from unslow.fix.moves.tensor_lists import always_given_tensors
from unslow.syntax.library import Kind
from unslow.syntax.literals import FromCommandLine, Obstacle, find_literal
from unslow.syntax.nodes import (
    NAMED_FUNCTIONS,
    NamedFunction,
    inside,
    is_stored,
    last_name,
    method_of,
    of_type,
    root_name,
    values_taken,
    words,
)
from unslow.syntax.scopes import Binding
from unslow.syntax.uses import MUTATORS, uses

_NUMBERS = words("float int bool complex")
_MAKES = ("keras.layers.", "keras.optimizers.", "keras.metrics.", "keras.models.")
_MODELS = ("keras.Sequential", "keras.Model")
_KERAS_LOOPS = words("fit evaluate predict train_on_batch test_on_batch predict_on_batch compile")
_FILES = words("save save_weights savefig write writelines writerow flush")
_VALUES = words("numpy item tolist")
# Methods of arrays that tensors do not have: an array given to a compiled function arrives as a
# tensor.
ARRAY_ONLY = words("astype reshape mean sum std flatten ravel transpose squeeze")
_EFFECTS_ALLOWED = words(
    "update_state reset_state reset_states apply_gradients apply minimize watch set_shape add_loss"
    " add_metric assign assign_add assign_sub build"
)
_PYTHON_SEQUENCES = words("items keys values gradient jacobian")
_WRAPPERS = words("zip enumerate reversed list tuple")
_PYTHON_CONTAINERS = ("variables", "weights", "layers")
_LAYERS = (Kind.LAYER, Kind.MODEL)
_ONCE = "which a compiled step would do only once"
# Statements and expressions that a graph has no form for.
_FORMLESS: dict[type[ast.AST], str] = {
    ast.Try: "it catches exceptions, which a graph does not raise in Python",
    ast.While: "it has a `while` loop, whose length a compiled step may take from a tensor",
    ast.Global: "it sets names outside of itself",
    ast.Nonlocal: "it sets names outside of itself",
    ast.Yield: "it is a generator",
    ast.YieldFrom: "it is a generator",
    ast.Await: "it waits for a coroutine",
    ast.AsyncWith: "it waits for a coroutine",
    ast.AsyncFor: "it waits for a coroutine",
}


@dataclass(frozen=True)
class Offence:
    reason: str
    node: ast.AST


def offence(
    script: Script, body: Sequence[ast.stmt], taken: set[str], function: NamedFunction | None
) -> Offence | None:
    """The first thing in the code, or in functions it calls, that a graph cannot keep."""
    calling = () if function is None else (function,)
    return next(_Judge(script, body, taken, calling).offences(), None)


@dataclass
class _Judge:
    """Judges the code of one function or part; `taken` are the names it is given."""

    script: Script
    body: Sequence[ast.stmt]
    taken: set[str]
    calling: tuple[ast.AST, ...] = ()  # the script's own functions that are being judged
    sequences: frozenset[str] = frozenset()  # parameters that the caller binds to Python sequences
    _asked: set[str] = field(default_factory=set)  # names that may be bound in terms of each other

    def __post_init__(self) -> None:
        self.local = uses(self.body).writes
        self.tensors = self.taken | self.local
        self._rules: dict[type[ast.AST], Callable[..., str | None]] = {
            ast.Raise: self._raise,
            ast.withitem: self._with_item,
            ast.Attribute: self._store,
            ast.Subscript: self._store,
            ast.JoinedStr: self._text,
            ast.For: self._loop,
            ast.comprehension: self._loop,
            ast.Call: self._call,
        }

    def offences(self) -> Iterator[Offence]:
        for top in self.body:
            yield from self._visit(top)

    def _visit(self, node: ast.AST) -> Iterator[Offence]:
        reason = _FORMLESS.get(type(node))
        rule = self._rules.get(type(node))
        if rule is not None:
            reason = rule(node)
        if reason is not None:
            yield Offence(reason, node.iter if isinstance(node, ast.For) else _placed(node))
        if isinstance(node, ast.Call) and reason is None:
            yield from self._inside_callee(node)
        for child in ast.iter_child_nodes(node):
            yield from self._visit(child)

    # Statements

    def _raise(self, node: ast.Raise) -> str | None:
        if not isinstance(self.script.parents[node], ast.If):
            return None
        return "it raises under a condition, which a compiled step would decide when it is traced"

    def _with_item(self, node: ast.withitem) -> str | None:
        context = node.context_expr
        function = context.func if isinstance(context, ast.Call) else context
        known = self.script.name(function).startswith(("tf.", "keras."))
        if known or last_name(function) == "GradientTape" or root_name(context) in self.local:
            return None
        return (
            f"it enters `{self.script.source(context)}`, a context manager that is not TensorFlow's"
        )

    def _store(self, node: ast.Attribute | ast.Subscript) -> str | None:
        if not is_stored(node) or root_name(node) in self.local:
            return None
        return f"it sets `{self.script.source(node)}`, {_ONCE}"

    def _text(self, node: ast.JoinedStr) -> str | None:
        parts = [part.value for part in of_type(node.values, ast.FormattedValue)]
        return None if self._needs_no_tensor(parts) else "it writes a value into a text"

    def _needs_no_tensor(self, parts: Sequence[ast.AST]) -> bool:
        return all(needs_no_tensor(self.script, part, self.tensors) for part in parts)

    # Loops over tensors

    def _loop(self, node: ast.For | ast.comprehension) -> str | None:
        if self._is_python_sequence(node.iter):
            return None
        return f"it loops over `{self.script.source(node.iter)}` in Python"

    def _is_python_sequence(self, node: ast.AST) -> bool:
        """Whether it is a Python sequence of fixed length, unrolled while tracing."""
        match node:
            case ast.Call(func=function, args=given):
                name = self.script.name(function)
                if name in _WRAPPERS:
                    return all(self._is_python_sequence(value) for value in given)
                if name == "range":
                    return all(self._is_number(value) for value in given)
                if name == "tf.split":
                    return all(map(self._is_static, given[1:2]))
                return last_name(function) in _PYTHON_SEQUENCES
            case ast.Subscript(value=whole, slice=ast.Slice()):
                return self._is_python_sequence(whole)
            case ast.BinOp(left=left, right=right):
                return self._is_python_sequence(left) and self._is_python_sequence(right)
            case ast.Attribute(attr=name):
                return name.endswith(_PYTHON_CONTAINERS) or root_name(node) not in self.tensors
            case ast.Name():
                return self._is_bound_to_sequence(node)
        written = ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp | ast.Constant
        return isinstance(node, written)

    def _is_static(self, node: ast.expr) -> bool:
        return self._is_number(node) or self._is_python_sequence(node)

    def _is_number(self, node: ast.expr) -> bool:
        """Whether a value is surely Python's: computed of such, or written in a configuration."""
        if self._needs_no_tensor([node]):
            return True
        try:
            return isinstance(find_literal(self.script, node).value, int)
        except FromCommandLine:
            return True
        except Obstacle:
            return False

    def _is_bound_to_sequence(self, node: ast.Name) -> bool:
        if node.id in self.sequences or node.id in self._asked:
            return True
        bindings = self.script.bindings(node.id, node)
        fixed = len(bindings) == 1 and not self.script.loops_around(bindings[0].node)
        if node.id in self.taken and not fixed:
            return False
        if node.id in self.taken and self._is_given_tensors(node.id):
            return True
        self._asked.add(node.id)
        return all(self._holds_sequence(binding) for binding in bindings)

    def _is_given_tensors(self, name: str) -> bool:
        function = self.calling[-1] if self.calling else None
        if not isinstance(function, NAMED_FUNCTIONS):
            return False
        return always_given_tensors(self.script, function, name)

    def _holds_sequence(self, binding: Binding) -> bool:
        value = binding.value
        if binding.assigned is None and isinstance(binding.node, ast.Assign):
            # `grads, _ = tf.clip_by_global_norm(grads, 1.0)`
            return isinstance(value, ast.Call) and last_name(value.func) == "clip_by_global_norm"
        return binding.assigned is not None and self._is_python_sequence(binding.assigned)

    # Calls

    def _call(self, node: ast.Call) -> str | None:
        reason = self._named_reason(node)
        function = self.script.own_function(node)
        if reason is None and function is None:
            return (
                self._method_reason(node) or self._effect_reason(node) or self._layers_reason(node)
            )
        if reason is None and function in self.calling:
            return f"`{last_name(node.func)}` calls itself"
        return reason

    def _inside_callee(self, node: ast.Call) -> Iterator[Offence]:
        function = self.script.own_function(node)
        if function is not None:
            taken = values_taken(function)
            given = self.script.arguments_of(function, node)
            python = [name for name, value in given if self._is_python_sequence(value)]
            sequences = taken.intersection(python)
            calling = (*self.calling, function)
            inner = _Judge(self.script, function.body, taken, calling, frozenset(sequences))
            yield from inner.offences()

    def _named_reason(self, node: ast.Call) -> str | None:
        name = self.script.name(node.func)
        parts = (*node.args, *node.keywords)
        effect = effect_of(name)
        if effect is not None:
            return f"it {effect}"
        if name in _NUMBERS and not self._needs_no_tensor(node.args):
            return f"it turns a tensor into a Python number with `{name}()`"
        if name.startswith("numpy.") and not self._needs_no_tensor(parts):
            return "it applies NumPy to tensors"
        if self._makes_variables(node, name):
            return f"it makes a `{last_name(node.func)}` in every step"
        return None

    def _makes_variables(self, node: ast.Call, name: str) -> bool:
        if name in _MODELS or (name.startswith(_MAKES) and last_name(node.func)[:1].isupper()):
            return True
        made = self.script.callee(node)
        if made is None or not isinstance(made.node, ast.ClassDef):
            return False
        bases = [made.source.name(base) for base in made.node.bases]
        return any(base.startswith(("tf.", "keras.")) for base in bases)

    def _method_reason(self, node: ast.Call) -> str | None:
        method = method_of(node)
        if not isinstance(node.func, ast.Attribute):
            return None
        receiver = node.func.value
        outside = root_name(receiver) not in self.local
        if method in _VALUES and not node.args:
            return f"`.{method}()` needs the value of a tensor"
        if method in ARRAY_ONLY and self._is_taken(receiver):
            return f"`.{method}()` is a method of arrays, not of tensors"
        if method in _KERAS_LOOPS or (method in _FILES and outside):
            return f"it calls `.{method}()`, which is not part of a step"
        if draws_in_python(self.script, node):
            return f"it {DRAWS_ONCE}"
        if method == "format" and isinstance(receiver, ast.Constant):
            return "it writes a value into a text"
        is_library = bool(self.script.name(node.func))  # `tf.add`, not the `add` of a set
        if method in MUTATORS - _EFFECTS_ALLOWED and outside and not is_library:
            return f"it changes `{self.script.source(receiver)}`, {_ONCE}"
        return None

    def _layers_reason(self, node: ast.Call) -> str | None:
        """What the script's own layers do that a graph cannot keep: a model may hold any."""
        if self.script.kind(node.func) is not Kind.MODEL or self.script.callee(node) is not None:
            return None
        for owner in self.script.every(ast.ClassDef):
            call = method_named(owner, "call")
            if call is None or call in self.calling or self.script.class_kind(owner) not in _LAYERS:
                continue
            calling = (*self.calling, call)
            found = _Judge(self.script, call.body, values_taken(call), calling).offences()
            first = next(found, None)
            if first is not None:
                return f"in `{owner.name}.call`, {first.reason}"
        return None

    def _is_taken(self, node: ast.expr) -> bool:
        direct = node.value if isinstance(node, ast.Subscript) else node
        return isinstance(direct, ast.Name) and direct.id in self.taken

    def _effect_reason(self, node: ast.Call) -> str | None:
        """A call without a used result has an effect; a graph keeps TensorFlow's only."""
        if not isinstance(self.script.parents[node], ast.Expr):
            return None
        kept = last_name(node.func) in _EFFECTS_ALLOWED | MUTATORS
        library = self.script.name(node.func).startswith(("tf.", "keras."))
        if kept or library or self.script.kind(node.func) is Kind.METRIC:
            return None
        return f"it calls `{self.script.source(node.func)}` for its effect, which may be Python's"


def _placed(node: ast.AST) -> ast.AST:
    """The node itself, or the part of it that has a place in the text."""
    return next(part for part in inside(node, ast.AST) if hasattr(part, "lineno"))
