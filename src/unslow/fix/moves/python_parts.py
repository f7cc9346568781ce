"""What of a step stays Python's: effects of functions, and values that need no tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from unslow.fix.edit.script import Script
from unslow.syntax.library import Kind
from unslow.syntax.names import is_builtin
from unslow.syntax.nodes import inside, method_of, receiver_of, root_name, words
from unslow.syntax.python_types import NEVER_TENSORS, STATIC_ATTRIBUTES, expressions, python_type
from unslow.syntax.uses import uses

DRAWS_ONCE = "draws random numbers in Python, which a compiled step would draw once"
_EFFECTS = {
    "print": "prints",
    "open": "opens a file",
    "input": "waits for input",
    "next": "takes from a generator or an iterator",
    "iter": "makes an iterator",
    "exec": "runs code that is made up on the fly",
    "eval": "runs code that is made up on the fly",
    "setattr": "sets an attribute",
    "numpy.random": DRAWS_ONCE,
    "random": DRAWS_ONCE,
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
    "tf.io.gfile": "works on files",
    "tf.io.TFRecordWriter": "works on files",
    "tf.profiler": "starts or stops a profiler",
}
_FILLS = words("append extend add update pop insert setdefault clear")
_DRAWN = words(
    "normal uniform integers permutation standard_normal choice random randint rand randn"
    " random_sample shuffle"
)


def effect_of(name: str) -> str | None:
    """What calling a function does besides giving a value, by its canonical name."""
    found = (what for module, what in _EFFECTS.items() if f"{name}.".startswith(f"{module}."))
    return next(found, None)


def draws_in_python(script: Script, call: ast.Call) -> bool:
    """Whether a method draws numbers from a generator of Python's or NumPy's."""
    holder = receiver_of(call)
    if holder is None or method_of(call) not in _DRAWN or script.name(call.func):
        return False
    return script.kind(holder) is not Kind.GENERATOR and script.own_function(call) is None


def effect_of_tracing(
    script: Script, body: Sequence[ast.AST], parameters: set[str]
) -> tuple[str, ast.Call] | None:
    """What code does in Python whenever it is traced, with the call that does it."""
    local = uses(body).writes | parameters
    for call in inside(body, ast.Call):
        name, holder = script.name(call.func), root_name(call.func)
        effect = None if name.startswith("tf.") else effect_of(name)
        effect = DRAWS_ONCE if draws_in_python(script, call) else effect
        if effect is None and not name and holder not in local and method_of(call) in _FILLS:
            effect = f"changes `{holder}`"
        if effect is not None:
            known = ", which" in effect
            return (
                f"it {effect}" if known else f"it {effect} whenever it is traced: once then",
                call,
            )
    return None


def needs_no_tensor(script: Script, node: ast.AST, tensors: set[str]) -> bool:
    """Whether an expression surely needs the value of none of some tensors."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name not in tensors and python_type(script, node) is not None
        case ast.Attribute(attr=attribute):
            return attribute in STATIC_ATTRIBUTES or script.name(node).startswith(NEVER_TENSORS)
        case ast.Call(func=function):
            name = script.name(function)
            known = is_builtin(name) or name.startswith(NEVER_TENSORS)
            parts = (*node.args, *node.keywords)
            return name == "len" or (known and _none_needed(script, parts, tensors))
        case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.keyword(value=inner):
            return needs_no_tensor(script, inner, tensors)
        case ast.BinOp() | ast.UnaryOp() | ast.Tuple() | ast.List() | ast.Compare() | ast.IfExp():
            return _none_needed(script, expressions(node), tensors)
    return False


def _none_needed(script: Script, parts: Iterable[ast.AST], tensors: set[str]) -> bool:
    return all(needs_no_tensor(script, part, tensors) for part in parts)
