"""What ops are made of, where it is the same at every call: names bound once, attributes set at birth, pure calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import NamedTuple

from unslow.fix.edit.script import Script
from unslow.fix.moves.callees import own_function
from unslow.fix.moves.session_feeds import tf_name
from unslow.syntax.nodes import NAMED_FUNCTIONS, NamedFunction, dotted, last_name
from unslow.syntax.uses import MUTATORS

# In graph mode these make ops; they change nothing by themselves.
_MAKING = frozenset({"assign", "assign_add", "assign_sub"})
_METHODS = _MAKING | frozenset(
    {
        "get_shape",
        "as_list",
        "read_value",
        "value",
        "initialized_value",
        "compute_gradients",
        "format",
    }
    | {"items", "values", "keys"}
)
_PURE = frozenset(
    {
        "len",
        "range",
        "int",
        "float",
        "bool",
        "list",
        "tuple",
        "dict",
        "zip",
        "enumerate",
        "sum",
        "min",
        "max",
        "abs",
    }
    | {"sorted", "reversed", "str", "isinstance", "round", "set", "map", "filter", "slice"}
)
# They take in all that the graph holds when they are called.
_WHOLE = frozenset(
    {
        "train.Saver",
        "summary.merge_all",
        "global_variables_initializer",
        "local_variables_initializer",
    }
    | {
        "initialize_all_variables",
        "tables_initializer",
        "trainable_variables",
        "global_variables",
        "get_collection",
    }
    | {"report_uninitialized_variables", "model_variables", "local_variables"}
)
VARIABLES = (
    "Variable",
    "get_variable",
    "layers.",
    "keras.",
    "contrib.",
    "metrics.",
    "slim.",
    "estimator.",
)
_DOING = (
    *(
        "Session",
        "InteractiveSession",
        "Graph",
        "train.",
        "data.",
        "get_default",
        "reset_",
        "set_random",
        "random.set",
    ),
    *(
        "add_to_collection",
        "enable_",
        "disable_",
        "gfile.",
        "io.",
        "logging.",
        "summary.FileWriter",
        "app.",
        "flags.",
    ),
)
_FINE = frozenset(
    {
        "train.exponential_decay",
        "train.get_global_step",
        "train.cosine_decay",
        "train.piecewise_constant",
    }
)


@dataclass
class Needs:
    """What has to exist before the ops are made."""

    names: dict[str, ast.AST] = field(default_factory=dict)  # with what binds them
    attributes: dict[str, ast.Attribute] = field(
        default_factory=dict
    )  # of the object whose method makes them
    whole: ast.Call | None = None  # a call that takes in the graph as it is by then


class Look:
    """One look at code that is to be made once; raises CannotEdit where it might not be the same every time."""

    def __init__(self, script: Script, own: str | None) -> None:
        self._script = script
        self._own = own  # what a method calls its object
        self._seen: set[ast.AST] = set()
        self.needs = Needs()

    def at(self, part: ast.expr, known: set[ast.AST]) -> None:
        """`known` are nodes inside that something else will stand in for."""
        self._walk(part, part, known, self._own)

    def _walk(self, top: ast.AST, scope: ast.AST, known: set[ast.AST], own: str | None) -> None:
        if top in known:
            return
        for child in ast.iter_child_nodes(
            top
        ):  # first, so that what is refused is named as closely as can be
            self._walk(child, scope, known, own)
        if isinstance(top, ast.Name):
            self._name(top, scope, own)
        elif isinstance(top, ast.Attribute) and not self._script.name(top):
            self._attribute(top, own)
        elif isinstance(top, ast.Call):
            self._call(top, own)
        elif isinstance(
            top, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal
        ):
            raise self._script.refuse("it does more than make ops", top)

    def _name(self, node: ast.Name, scope: ast.AST, own: str | None) -> None:
        script = self._script
        if node.id == own:
            if not isinstance(script.parents[node], ast.Attribute):
                raise script.refuse(
                    f"it hands out `{own}`, and what becomes of that is not known", node
                )
            return
        inside = set(ast.walk(scope))
        bindings = [item for item in script.bindings(node.id, node) if item.node not in inside]
        if not bindings:
            return  # a builtin, or bound by the code itself
        node_of = bindings[0].node
        if len(bindings) > 1 and not all(item.is_import for item in bindings):
            raise script.refuse(f"`{node.id}` is bound more than once", node)
        if isinstance(node_of, ast.AugAssign | ast.For | ast.AsyncFor) or script.loops_around(
            node_of
        ):
            raise script.refuse(f"`{node.id}` changes in a loop", node)
        if bindings[0].is_import is False:
            self._unchanged(node.id, node)
        self.needs.names.setdefault(node.id, node_of)

    def _attribute(self, node: ast.Attribute, own: str | None) -> None:
        script = self._script
        called = script.parents[node]
        if isinstance(called, ast.Call) and called.func is node:
            return  # the method of an object: looked at as a call
        if any(function.name == node.attr for function in script.functions):
            raise script.refuse(f"`{script.source(node)}` is a function or property", node)
        births(script, node)
        self._unchanged(node.attr, node)
        if isinstance(node.value, ast.Name) and node.value.id == own and own == self._own:
            self.needs.attributes.setdefault(node.attr, node)

    def _unchanged(self, name: str, node: ast.AST) -> None:
        """Raises where a container of this name is filled or an item of it is set."""
        for other in self._script.nodes:
            path: str | None = None
            if isinstance(other, ast.Subscript) and not isinstance(other.ctx, ast.Load):
                path = dotted(other.value)
            elif isinstance(other, ast.Call) and last_name(other.func) in MUTATORS - _MAKING:
                method = isinstance(other.func, ast.Attribute) and not self._script.name(other.func)
                path = dotted(other.func.value) if method else None  # type: ignore[attr-defined]
            if path is not None and path.rpartition(".")[2] == name:
                raise self._script.refuse(f"`{path}` is changed in place elsewhere", node)

    def _call(self, node: ast.Call, own: str | None) -> None:
        script = self._script
        name = script.name(node.func)
        tensorflow = tf_name(script, node.func)
        if tensorflow is not None:
            self._tensorflow(node, tensorflow)
            return
        module, _, rest = name.partition(".")
        if name in _PURE or module == "math":
            return
        if module == "numpy" and not rest.startswith(("random.", "load", "save")):
            return
        function = _callee(script, node)
        if function is not None:
            self._function(function, node, own)
        elif last_name(node.func) not in _METHODS or not isinstance(node.func, ast.Attribute):
            raise script.refuse(
                f"what `{script.source(node.func)}` does besides making ops is not known", node
            )

    def _tensorflow(self, node: ast.Call, name: str) -> None:
        script = self._script
        if name in _WHOLE:
            self.needs.whole = node
        elif name.startswith(VARIABLES):
            raise script.refuse(
                f"`{script.source(node.func)}` makes variables, which must be initialised too", node
            )
        elif name.startswith(_DOING) and name not in _FINE:
            raise script.refuse(f"`{script.source(node.func)}` does more than make ops", node)
        elif any(word.arg == "seed" for word in node.keywords):
            raise script.refuse(
                f"with its own seed `{script.source(node.func)}` starts anew each time it is made",
                node,
            )

    def _function(self, function: NamedFunction, call: ast.Call, own: str | None) -> None:
        """A function of the script's own: all of its code must only make, from what stays the same."""
        if function in self._seen:
            return
        self._seen.add(function)
        script = self._script
        of_self = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
        inner = own_name(script, function)
        same = (
            of_self
            and isinstance(call.func, ast.Attribute)
            and ast.unparse(call.func.value) == own == self._own
        )
        for node in (each for top in function.body for each in ast.walk(top)):
            stored = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(
                node.ctx, ast.Load
            )
            if stored or isinstance(node, (*NAMED_FUNCTIONS, ast.ClassDef, ast.Raise, ast.Delete)):
                raise script.refuse(f"`{function.name}` does more than make ops", node)
        if function.decorator_list:
            raise script.refuse(
                f"`{function.name}` is decorated: what a call of it does is not known", function
            )
        for statement in function.body:
            if inner is not None and not same:
                self._walk(statement, function, _selfs(function, inner), None)
            else:
                self._walk(statement, function, set(), inner if same else None)


def _selfs(function: NamedFunction, name: str) -> set[ast.AST]:
    return {node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name}


def own_name(script: Script, function: NamedFunction) -> str | None:
    """What a method calls its object; None for a plain function."""
    names = [*function.args.posonlyargs, *function.args.args]
    is_method = isinstance(script.parents[function], ast.ClassDef)
    free = any(
        last_name(item) in ("staticmethod", "classmethod") for item in function.decorator_list
    )
    return names[0].arg if is_method and names and not free else None


def _callee(script: Script, node: ast.Call) -> NamedFunction | None:
    """The script's own function behind a call; a method of another object if only one class has such."""
    if isinstance(node.func, ast.Name) or ast.unparse(node.func).startswith("self."):
        found = own_function(script, node)
        if found is not None:
            return found
    methods = [
        function
        for function in script.functions
        if isinstance(script.parents[function], ast.ClassDef)
        and function.name == last_name(node.func)
    ]
    return methods[0] if len(methods) == 1 and isinstance(node.func, ast.Attribute) else None


# Attributes


class Birth(NamedTuple):
    """Where a class sets an attribute, and the statement of its `__init__` that comes by there."""

    owner: ast.ClassDef
    store: ast.Attribute
    statement: ast.stmt


def births(script: Script, read: ast.Attribute) -> list[Birth]:
    """Where an attribute is set, once for each class that has it; raises if others than its `__init__` set it too."""
    found: list[Birth] = []
    for store in script.nodes:
        if (
            not isinstance(store, ast.Attribute)
            or store.attr != read.attr
            or isinstance(store.ctx, ast.Load)
        ):
            continue
        owner = _class_of(script, store)
        statement = _at_birth(script, store, 3) if owner is not None else None
        if owner is None or statement is None or any(other.owner is owner for other in found):
            where = store.lineno
            raise script.refuse(
                f"`{script.source(read)}` is not surely set once by `__init__` (line {where})", read
            )
        found.append(Birth(owner, store, statement))
    if any(_sets_by_name(script, node, read.attr) for node in script.every(ast.Call)):
        raise script.refuse(f"`{script.source(read)}` may be set by `setattr`", read)
    return found


def _sets_by_name(script: Script, node: ast.Call, attribute: str) -> bool:
    if script.name(node.func) != "setattr" or len(node.args) < 2:
        return False
    return not isinstance(node.args[1], ast.Constant) or node.args[1].value == attribute


def _class_of(script: Script, store: ast.Attribute) -> ast.ClassDef | None:
    function = script.function_of(store)
    owner = script.parents[function] if function is not None else None
    mine = function is not None and isinstance(store.value, ast.Name)
    if not isinstance(owner, ast.ClassDef) or function is None or not mine:
        return None
    return owner if store.value.id == own_name(script, function) else None  # type: ignore[attr-defined]


def _at_birth(script: Script, node: ast.AST, depth: int) -> ast.stmt | None:
    """The statement of `__init__` that surely comes by a node, itself or through methods that only it calls."""
    function = script.function_of(node)
    statement = script.statement_of(node)
    if function is None or not depth or not _always_runs(script, statement, function):
        return None
    if function.name == "__init__":
        return statement
    mentions = [
        other
        for other in script.nodes
        if isinstance(other, ast.Attribute) and other.attr == function.name
    ]
    if len(mentions) != 1 or not isinstance(script.parents[mentions[0]], ast.Call):
        return None
    caller = script.function_of(mentions[0])
    same = caller is not None and script.parents[caller] is script.parents[function]
    return _at_birth(script, mentions[0], depth - 1) if same else None


def _always_runs(script: Script, statement: ast.stmt, function: NamedFunction) -> bool:
    if isinstance(statement, ast.AugAssign) or any(
        _leaves_early(node, function) for node in ast.walk(function)
    ):
        return False
    for owner in script.ancestors(statement):
        if owner is function:
            return True
        if not isinstance(owner, ast.With):
            return False
    return False


def _leaves_early(node: ast.AST, function: NamedFunction) -> bool:
    return isinstance(node, ast.Return) and node is not function.body[-1]
