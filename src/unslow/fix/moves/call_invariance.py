"""Whether what ops are made of is the same at every call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.session_feeds import ASSIGNS, tf_name
from unslow.fix.moves.shapes import call_by, mentions
from unslow.syntax.nodes import (
    DEFINITIONS,
    NamedFunction,
    argument,
    dotted,
    has_decorator,
    inside,
    is_stored,
    last_name,
    method_of,
    positional_names,
    receiver_of,
    words,
)
from unslow.syntax.uses import MUTATORS

# Methods that change nothing; in graph mode assigning makes an op that does so when it is run.
_METHODS = ASSIGNS | words(
    "get_shape as_list read_value value initialized_value compute_gradients format items values "
    "keys"
)
_PURE = words(
    "len range int float bool list tuple dict zip enumerate sum min max abs sorted reversed str"
    " isinstance round set map filter slice"
)
_PURE_MODULES = ("math.", "numpy.")
_IMPURE_NUMPY = ("numpy.random.", "numpy.load", "numpy.save")
# They take in all that the graph holds when they are called.
WHOLE = words(
    "train.Saver summary.merge_all global_variables_initializer local_variables_initializer"
    " initialize_all_variables tables_initializer trainable_variables global_variables"
    " get_collection report_uninitialized_variables model_variables local_variables"
)
VARIABLES = (
    *("Variable", "get_variable", "layers.", "keras.", "contrib.", "metrics.", "slim."),
    "estimator.",
)
_DOING = (
    *("Session", "InteractiveSession", "Graph", "train.", "data.", "get_default", "reset_"),
    *("set_random", "random.set", "add_to_collection", "enable_", "disable_", "gfile.", "io."),
    *("logging.", "summary.FileWriter", "app.", "flags."),
)
_ONLY_MAKING = words(
    "train.get_global_step train.piecewise_constant train.piecewise_constant_decay "
    "train.cosine_decay train.cosine_decay_restarts train.exponential_decay "
    "train.inverse_time_decay train.linear_cosine_decay train.natural_exp_decay "
    "train.polynomial_decay"
)
_DOING_NODES = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)
_DEEPEST_INIT = 3  # methods that `__init__` calls to set an attribute


@dataclass
class Needs:
    """What has to exist before the ops are made."""

    names: dict[str, ast.AST] = field(default_factory=dict)  # with what binds them
    attributes: dict[str, ast.Attribute] = field(default_factory=dict)  # of the method's object
    whole: ast.Call | None = None  # a call that takes in the graph as it is by then


class Invariance:
    """Checks code that is to run once; CannotEdit where it might not give the same value."""

    def __init__(self, script: Script, own: str | None) -> None:
        self._script = script
        self._own = own  # what a method calls its object
        self._seen: set[ast.AST] = set()
        self.needs = Needs()

    def require(self, part: ast.expr, known: set[ast.AST]) -> None:
        """`known` are nodes inside that something else will stand in for."""
        self._walk(part, part, known, self._own)

    def _walk(self, top: ast.AST, scope: ast.AST, known: set[ast.AST], own: str | None) -> None:
        if top in known:
            return
        # Inner nodes first, so that what is refused is named as closely as can be.
        for child in ast.iter_child_nodes(top):
            self._walk(child, scope, known, own)
        match top:
            case ast.Name():
                self._name(top, scope, own)
            case ast.Attribute():
                self._attribute(top, own)
            case ast.Call():
                self._call(top, own)
        doing = isinstance(top, _DOING_NODES)
        self._script.refuse_if(doing, "it does more than make ops", top)

    def _name(self, node: ast.Name, scope: ast.AST, own: str | None) -> None:
        script = self._script
        if node.id == own:
            reason = f"it hands out `{own}`, and what becomes of that is not known"
            script.refuse_if(not isinstance(script.parents[node], ast.Attribute), reason, node)
            return
        bindings = script.bindings(node.id, node)
        outside = [item for item in bindings if not script.within(item.node, scope)]
        if not outside:
            return  # a builtin, or bound by the code itself
        imported = all(item.is_import for item in outside)
        if len(outside) > 1 and not imported:
            raise script.refuse(f"`{node.id}` is bound more than once", node)
        binder = outside[0].node
        counts = isinstance(binder, ast.AugAssign | ast.For | ast.AsyncFor)
        if counts or script.loops_around(binder):
            raise script.refuse(f"`{node.id}` changes in a loop", node)
        if not imported:
            self._require_unchanged(node.id, node)
        self.needs.names.setdefault(node.id, binder)

    def _attribute(self, node: ast.Attribute, own: str | None) -> None:
        script = self._script
        if script.name(node) or call_by(script, node):
            return  # of a module, or the method of an object: checked as a call
        if any(function.name == node.attr for function in script.functions):
            raise script.refuse(f"`{script.source(node)}` is a function or property", node)
        set_by_init(script, node)
        self._require_unchanged(node.attr, node)
        if own == self._own and last_name(node.value) == own and isinstance(node.value, ast.Name):
            self.needs.attributes.setdefault(node.attr, node)

    def _require_unchanged(self, name: str, node: ast.AST) -> None:
        """Raises where a container of this name is filled or an item of it is set."""
        for path in _changed_in_place(self._script):
            if path.rpartition(".")[2] == name:
                raise self._script.refuse(f"`{path}` is changed in place elsewhere", node)

    def _call(self, node: ast.Call, own: str | None) -> None:
        script = self._script
        name = script.name(node.func)
        if tf_name(script, node.func):
            self._tensorflow(node, tf_name(script, node.func))
            return
        pure_module = name.startswith(_PURE_MODULES) and not name.startswith(_IMPURE_NUMPY)
        if name in _PURE or pure_module:
            return
        function = _callee(script, node)
        if function is not None:
            self._function(function, node, own)
        elif method_of(node) not in _METHODS:
            called = script.source(node.func)
            raise script.refuse(f"what `{called}` does besides making ops is not known", node)

    def _tensorflow(self, node: ast.Call, name: str) -> None:
        called = self._script.source(node.func)
        if name in WHOLE:
            self.needs.whole = node
            return
        reason = ""
        if name.startswith(VARIABLES):
            reason = f"`{called}` makes variables, which must be initialised too"
        elif name.startswith(_DOING) and name not in _ONLY_MAKING:
            reason = f"`{called}` does more than make ops"
        elif argument(node, "seed") is not None:
            reason = f"with its own seed `{called}` starts anew each time it is made"
        self._script.refuse_if(reason, reason, node)

    def _function(self, function: NamedFunction, call: ast.Call, own: str | None) -> None:
        """Raises where a function of the script does more than make ops from fixed values."""
        if function in self._seen:
            return
        self._seen.add(function)
        script = self._script
        for node in inside(function.body, ast.AST):
            stored = isinstance(node, ast.Attribute | ast.Subscript) and is_stored(node)
            if stored or isinstance(node, (*DEFINITIONS, ast.Raise, ast.Delete)):
                raise script.refuse(f"`{function.name}` does more than make ops", node)
        reason = f"`{function.name}` is decorated: what a call of it does is not known"
        script.refuse_if(function.decorator_list, reason, function)
        inner = own_name(script, function)
        holder = dotted(receiver_of(call))
        same_object = inner is not None and holder == own == self._own
        # The attributes of another object are not this method's to name.
        known: set[ast.AST] = set() if same_object else {*mentions(function, inner)}
        for statement in function.body:
            self._walk(statement, function, known, inner if same_object else None)


def _changed_in_place(script: Script) -> Iterator[str]:
    """The paths of containers that are filled, or an item of which is set."""
    for item in script.every(ast.Subscript):
        if is_stored(item):
            yield dotted(item.value) or ""
    for call in script.every(ast.Call):
        if method_of(call) in MUTATORS - ASSIGNS and not script.name(call.func):
            yield dotted(receiver_of(call)) or ""


def own_name(script: Script, function: NamedFunction) -> str | None:
    """What a method calls its object; None for a plain function."""
    names = positional_names(function)
    bound = script.class_of_method(function) is not None and names
    free = has_decorator(function, "staticmethod", "classmethod")
    return names[0] if bound and not free else None


def _callee(script: Script, node: ast.Call) -> NamedFunction | None:
    """The script's own function behind a call; a method if only one class has it."""
    found = script.own_function(node)
    if found is not None or not method_of(node):
        return found
    named = [function for function in script.functions if function.name == method_of(node)]
    methods = [function for function in named if script.class_of_method(function) is not None]
    return methods[0] if len(methods) == 1 else None


# Attributes


class InitStore(NamedTuple):
    """Where a class sets an attribute, and the statement of its `__init__` that comes by there."""

    owner: ast.ClassDef
    store: ast.Attribute
    statement: ast.stmt


def set_by_init(script: Script, read: ast.Attribute) -> list[InitStore]:
    """Where an attribute is set, per class; raises if anything but `__init__` sets it."""
    found: list[InitStore] = []
    for store in script.attribute_stores(read):
        owner = _class_of_store(script, store)
        statement = _in_init(script, store) if owner is not None else None
        twice = any(other.owner is owner for other in found)
        if owner is None or statement is None or twice:
            what = script.source(read)
            line = script.recorded(store)
            reason = f"`{what}` is not surely set once by `__init__` (line {line})"
            raise script.refuse(reason, read)
        found.append(InitStore(owner, store, statement))
    for call in script.calls("setattr"):
        name = argument(call, "name", 1)
        if not isinstance(name, ast.Constant) or name.value == read.attr:
            raise script.refuse(f"`{script.source(read)}` may be set by `setattr`", read)
    return found


def _class_of_store(script: Script, store: ast.Attribute) -> ast.ClassDef | None:
    if not isinstance(store.value, ast.Name):
        return None
    return script.class_of_self(store.value.id, script.scope_at(store))


def _in_init(script: Script, node: ast.AST, depth: int = _DEEPEST_INIT) -> ast.stmt | None:
    """The statement of `__init__` that surely reaches a node, itself or by a method."""
    function, statement = script.function_of(node), script.statement_of(node)
    if function is None or not depth or not _always_runs(script, statement, function):
        return None
    if function.name == "__init__":
        return statement
    mentions = [other for other in script.every(ast.Attribute) if other.attr == function.name]
    if len(mentions) != 1 or not isinstance(script.parents[mentions[0]], ast.Call):
        return None
    caller = script.function_of(mentions[0])
    owner = script.class_of_method(function)
    same = caller is not None and script.class_of_method(caller) is owner
    return _in_init(script, mentions[0], depth - 1) if same else None


def _always_runs(script: Script, statement: ast.stmt, function: NamedFunction) -> bool:
    returns = [node for node in inside(function, ast.Return) if node is not function.body[-1]]
    if returns or isinstance(statement, ast.AugAssign):
        return False
    for owner in script.ancestors(statement):
        if not isinstance(owner, ast.With):
            return owner is function
    return False


def stays_the_same(script: Script, own: str | None, value: ast.expr) -> bool:
    """Whether a value is the same at every call."""
    try:
        Invariance(script, own).require(value, set())
    except CannotEdit:
        return False
    return True
