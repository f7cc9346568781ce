"""What keeps code from running as a compiled graph: each rule names the node that stands in the way and why."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from unslow.fix.edit.script import Script
from unslow.fix.moves.callees import arguments, handed_to, is_metric, makes_variables, own_function
from unslow.fix.moves.python_values import plain
from unslow.syntax.nodes import NAMED_FUNCTIONS, NamedFunction, last_name
from unslow.syntax.uses import MUTATORS, uses

_NUMBERS = frozenset({"float", "int", "bool", "complex"})
_BUILTIN_EFFECTS = {
    "print": "prints",
    "open": "opens a file",
    "input": "waits for input",
    "next": "takes from a generator or an iterator",
    "iter": "makes an iterator",
    "exec": "runs code that is made up on the fly",
    "eval": "runs code that is made up on the fly",
    "setattr": "sets an attribute",
}
_MODULE_EFFECTS = {
    "numpy.random": "draws random numbers in Python, which a compiled step would draw once",
    "random": "draws random numbers in Python, which a compiled step would draw once",
    "time": "reads the clock, which a compiled step would read once",
    "datetime": "reads the clock, which a compiled step would read once",
    "logging": "writes to a log",
    "os": "talks to the operating system",
    "sys": "talks to the interpreter",
    "json": "writes data out",
    "pickle": "writes data out",
    "csv": "writes data out",
    "shutil": "works on files",
    "gc": "runs the garbage collector",
    "tqdm": "moves a progress bar",
    "wandb": "sends data out",
    "mlflow": "sends data out",
    "matplotlib": "draws a plot",
    "tf.summary": "writes a summary",
    "tf.data": "makes a dataset",
    "tf.function": "makes a compiled function",
    "tf.Variable": "makes a variable",
    "tf.io": "works on files",
    "tf.profiler": "starts or stops a profiler",
}
_MAKES = (
    "keras.layers.",
    "keras.optimizers.",
    "keras.metrics.",
    "keras.models.",
    "keras.Sequential",
    "keras.Model",
)
_KERAS_LOOPS = frozenset(
    {"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch", "compile"}
)
_FILES = frozenset({"save", "save_weights", "savefig", "write", "writelines", "writerow", "flush"})
_VALUES = frozenset({"numpy", "item", "tolist"})
# Methods of arrays that tensors do not have: an array that is handed to a compiled function arrives as a tensor.
_ARRAY_ONLY = frozenset(
    {"astype", "reshape", "mean", "sum", "std", "flatten", "ravel", "transpose", "squeeze"}
)
_EFFECTS_ALLOWED = frozenset(
    {
        "update_state",
        "reset_state",
        "reset_states",
        "apply_gradients",
        "apply",
        "minimize",
        "watch",
        "set_shape",
        "add_loss",
        "add_metric",
        "assign",
        "assign_add",
        "assign_sub",
        "build",
    }
)
_PYTHON_CONTAINERS = ("variables", "weights", "layers")


@dataclass(frozen=True)
class Offence:
    reason: str
    node: ast.AST


@dataclass
class _Judge:
    """Judges one function's (or part's) code; `tensors` are the names that hold what is handed in or made of it."""

    script: Script
    body: Sequence[ast.stmt]
    handed: set[str]
    calling: tuple[ast.AST, ...] = ()  # the script's own functions that are being judged
    sequences: frozenset[str] = (
        frozenset()
    )  # parameters that the caller binds to sequences of Python's
    local: set[str] = field(init=False)
    _asked: set[str] = field(default_factory=set)  # names that may be bound in terms of each other

    def __post_init__(self) -> None:
        self.local = uses(self.body).writes

    @property
    def tensors(self) -> set[str]:
        return self.handed | self.local

    def offences(self) -> Iterator[Offence]:
        for top in self.body:
            yield from self.visit(top)

    def visit(self, node: ast.AST) -> Iterator[Offence]:
        rule: Callable[[ast.AST], Iterator[Offence]] | None = getattr(
            self, f"_{type(node).__name__.lower()}", None
        )
        if rule is not None:
            yield from rule(node)
        for child in ast.iter_child_nodes(node):
            yield from self.visit(child)

    # Statements that a graph has no form for

    def _try(self, node: ast.AST) -> Iterator[Offence]:
        yield Offence("it catches exceptions, which a graph does not raise in Python", node)

    _trystar = _try

    def _while(self, node: ast.AST) -> Iterator[Offence]:
        yield Offence(
            "it has a `while` loop, whose length a compiled step may take from a tensor", node
        )

    def _raise(self, node: ast.AST) -> Iterator[Offence]:
        if isinstance(self.script.parents[node], ast.If):
            yield Offence(
                "it raises under a condition, which a compiled step would decide when it is traced",
                node,
            )

    def _global(self, node: ast.AST) -> Iterator[Offence]:
        yield Offence("it sets names outside of itself", node)

    _nonlocal = _global

    def _yield(self, node: ast.AST) -> Iterator[Offence]:
        yield Offence("it is a generator", node)

    _yieldfrom = _yield

    def _await(self, node: ast.AST) -> Iterator[Offence]:
        yield Offence("it waits for a coroutine", node)

    _asyncwith = _asyncfor = _await

    def _with(self, node: ast.AST) -> Iterator[Offence]:
        assert isinstance(node, ast.With)
        for item in node.items:
            context = item.context_expr
            function = context.func if isinstance(context, ast.Call) else context
            root = _root(context)
            known = self.script.name(function).startswith(("tf.", "keras."))
            if not known and last_name(function) != "GradientTape" and root not in self.local:
                yield Offence(
                    f"it enters `{self.script.source(context)}`, which is Python's business",
                    context,
                )

    # State that would change once, when the step is traced

    def _outside(self, node: ast.AST) -> bool:
        return _root(node) not in self.local

    def _attribute(self, node: ast.AST) -> Iterator[Offence]:
        assert isinstance(node, ast.Attribute)
        if isinstance(node.ctx, ast.Store | ast.Del) and self._outside(node):
            yield Offence(
                f"it sets `{self.script.source(node)}`, which a compiled step would do only once",
                node,
            )

    def _subscript(self, node: ast.AST) -> Iterator[Offence]:
        assert isinstance(node, ast.Subscript)
        if isinstance(node.ctx, ast.Store | ast.Del) and self._outside(node):
            yield Offence(
                f"it sets `{self.script.source(node)}`, which a compiled step would do only once",
                node,
            )

    def _joinedstr(self, node: ast.AST) -> Iterator[Offence]:
        assert isinstance(node, ast.JoinedStr)
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and not plain(
                self.script, part.value, self.tensors
            ):
                yield Offence("it writes a value into a text", node)
                return

    # Loops over tensors

    def _for(self, node: ast.AST) -> Iterator[Offence]:
        assert isinstance(node, ast.For)
        yield from self._iterated(node.iter)

    def _comprehension(self, node: ast.AST) -> Iterator[Offence]:
        assert isinstance(node, ast.comprehension)
        yield from self._iterated(node.iter)

    def _iterated(self, node: ast.expr) -> Iterator[Offence]:
        if not self._python_sequence(node):
            yield Offence(f"it loops over `{self.script.source(node)}` in Python", node)

    def _python_sequence(self, node: ast.AST) -> bool:
        """Whether iterating is done while tracing: over a sequence of Python's, as long in every step."""
        if isinstance(node, ast.Call):
            name = self.script.name(node.func)
            if name in (
                "zip",
                "enumerate",
                "reversed",
                "list",
                "tuple",
            ):
                return all(self._python_sequence(argument) for argument in node.args)
            if name == "range":
                return all(plain(self.script, argument, self.tensors) for argument in node.args)
            return last_name(node.func) in ("items", "keys", "values", "gradient", "jacobian")
        if isinstance(node, ast.BinOp):
            return self._python_sequence(node.left) and self._python_sequence(node.right)
        if isinstance(node, ast.Attribute):
            return node.attr.endswith(_PYTHON_CONTAINERS) or _root(node) not in self.tensors
        if isinstance(node, ast.Name):
            return self._bound_to_sequence(node)
        return isinstance(
            node, ast.List | ast.Tuple | ast.ListComp | ast.GeneratorExp | ast.Constant
        )

    def _bound_to_sequence(self, node: ast.Name) -> bool:
        if node.id in self.sequences or node.id in self._asked:
            return True
        bindings = self.script.bindings(node.id, node)
        if node.id in self.handed and not (
            len(bindings) == 1 and self._made_once(bindings[0].node)
        ):
            return False
        self._asked.add(node.id)
        for binding in bindings:
            value = binding.assigned
            if value is None and isinstance(binding.node, ast.Assign):
                value = binding.node.value  # `grads, _ = tf.clip_by_global_norm(grads, 1.0)`
                if isinstance(value, ast.Call) and last_name(value.func) == "clip_by_global_norm":
                    continue
            if value is None or not self._python_sequence(value):
                return False
        return True

    def _made_once(self, node: ast.AST) -> bool:
        """Whether a binding stands in no loop: what it makes is the same in every step."""
        for parent in self.script.ancestors(node):
            if isinstance(parent, ast.For | ast.While | ast.AsyncFor):
                return False
            if isinstance(parent, NAMED_FUNCTIONS):
                break
        return True

    # Calls

    def _call(self, node: ast.AST) -> Iterator[Offence]:
        assert isinstance(node, ast.Call)
        function = own_function(self.script, node)
        reason = self._named_reason(node)
        if reason is None and function is None:
            reason = self._method_reason(node)
        if reason is not None:
            yield Offence(reason, node)
        elif function is not None and function in self.calling:
            yield Offence(f"`{last_name(node.func)}` calls itself", node)
        elif function is not None:
            handed, calling = handed_to(function), (*self.calling, function)
            sequences = frozenset(
                name
                for name, value in arguments(function, node)
                if name in handed and self._python_sequence(value)
            )
            yield from _Judge(self.script, function.body, handed, calling, sequences).offences()

    def _named_reason(self, node: ast.Call) -> str | None:
        name = self.script.name(node.func)
        if name in _BUILTIN_EFFECTS:
            return f"it {_BUILTIN_EFFECTS[name]}"
        if name in _NUMBERS and not all(
            plain(self.script, value, self.tensors) for value in node.args
        ):
            return f"it turns a tensor into a Python number with `{last_name(node.func)}()`"
        for module, what in _MODULE_EFFECTS.items():
            if name == module or name.startswith(f"{module}."):
                return f"it {what}"
        if name.startswith("numpy.") and not all(
            plain(self.script, value, self.tensors) for value in (*node.args, *node.keywords)
        ):
            return "it applies NumPy to tensors"
        made = name.startswith(_MAKES) and (last_name(node.func) or "")[:1].isupper()
        if made or makes_variables(self.script, node):
            return f"it makes a `{last_name(node.func)}` in every step"
        return None

    def _method_reason(self, node: ast.Call) -> str | None:
        method = last_name(node.func) or ""
        statement = isinstance(self.script.parents[node], ast.Expr)
        if not isinstance(node.func, ast.Attribute):
            return self._effect_reason(node) if statement else None
        if method in _VALUES and not node.args:
            return f"`.{method}()` needs the value of a tensor"
        root = _root(node.func.value)
        direct = (
            node.func.value.value if isinstance(node.func.value, ast.Subscript) else node.func.value
        )
        if method in _ARRAY_ONLY and isinstance(direct, ast.Name) and direct.id in self.handed:
            return f"`.{method}()` is a method of arrays, not of tensors"
        if method in _KERAS_LOOPS or (method in _FILES and root not in self.local):
            return f"it calls `.{method}()`, which is not part of a step"
        if method == "format" and isinstance(node.func.value, ast.Constant):
            return "it writes a value into a text"
        if method in MUTATORS - _EFFECTS_ALLOWED and root not in self.local:
            return f"it changes `{self.script.source(node.func.value)}`, which a compiled step would do only once"
        return self._effect_reason(node) if statement else None

    def _effect_reason(self, node: ast.Call) -> str | None:
        """A call whose result nobody takes is made for its effect; only TensorFlow's effects are kept in a graph."""
        name = self.script.name(node.func)
        if last_name(node.func) in _EFFECTS_ALLOWED | MUTATORS or name.startswith(
            ("tf.", "keras.")
        ):
            return None
        if is_metric(self.script, node.func):
            return None
        return f"it calls `{self.script.source(node.func)}` for its effect, which may be Python's"


def _root(node: ast.AST) -> str | None:
    """The name that a path of attributes, items and calls begins with."""
    while True:
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return node.id if isinstance(node, ast.Name) else None


def offence(
    script: Script, body: Sequence[ast.stmt], handed: set[str], function: NamedFunction | None
) -> Offence | None:
    """The first thing in the code, or in the script's own functions that it calls, that a graph cannot keep."""
    calling = () if function is None else (function,)
    return next(_Judge(script, body, handed, calling).offences(), None)
