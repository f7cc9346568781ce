"""Broken recipe: gradient accumulators that start at zero in every batch, or are counted by
nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unslow.cause import Cause, Spot
from unslow.syntax import STATEMENT_LOOPS, How, argument, own_nodes

if TYPE_CHECKING:
    from unslow.syntax import Source

_GRADIENTS = ("gradient", "compute_gradients", "jacobian")
_REMAINDERS = (
    "tf.math.floormod",
    "tf.math.mod",
    "tf.floormod",
    "tf.mod",
    "numpy.mod",
    "numpy.remainder",
)
_ZEROS = (
    "tf.zeros_like",
    "tf.zeros",
    "numpy.zeros_like",
    "numpy.zeros",
    "keras.ops.zeros_like",
    "keras.ops.zeros",
)
_HOLDERS = ("list", "tuple", "tf.Variable", "keras.Variable", "tf.identity", "tf.constant")
_MAPPERS = ("map", "tf.nest.map_structure", "keras.tree.map_structure")
_ADDS = ("tf.add", "tf.math.add", "tf.add_n", "numpy.add", "keras.ops.add")
_INSTEAD = (
    "keras.optimizers.Adam(..., gradient_accumulation_steps=n) and apply_gradients in every batch; "
    "by hand: make the"
    " accumulators before the loop and zero them only where they are applied"
)


class AccumulationReset(Cause):
    """
    What happens

    Gradients are to be summed over several batches and applied in every n-th. But the accumulators
    are set to zero in every batch, or the counter that decides when to apply them is never defined
    or never moves.

    Why it is slow

    It does not do what it says. With accumulators that start at zero in every batch, the n-th batch
    alone is applied, divided by n: the work of the other batches is thrown away, and the model
    learns n times more slowly. With a counter that does not exist the loop raises NameError; with
    one that never moves, nothing is ever applied.

    The fix

    Keras optimizers accumulate by themselves: `keras.optimizers.Adam(…,
    gradient_accumulation_steps=n)`, with `apply_gradients` (or `fit`) in every batch. By hand: make
    the accumulators once, before the loop, and set them to zero only in the branch that applies
    them; count with `for i, batch in enumerate(dataset)`.

    When we are wrong

    When the counter's test is true in every batch, so that each batch is meant to be applied by
    itself.
    """

    title = "gradients are set to zero before they can add up"
    ran = False

    def spot(self, source: Source) -> Iterable[Spot]:
        seen: set[ast.AST] = set()
        for site in _sites(source):
            for node, text in (*_resets(source, site), *_counters(source, site)):
                if node not in seen:
                    seen.add(node)
                    yield source.spot(node, text, _INSTEAD)


@dataclass
class _Site:
    """A place where gradients are applied: what goes in, and the tests that decide."""

    node: ast.AST
    keys: set[str]
    tests: list[ast.expr] = field(default_factory=list)


def _sites(source: Source) -> Iterator[_Site]:
    """Calls of `apply_gradients`, of the user's functions that call it, and `tf.cond` with such a
    function."""
    appliers: dict[ast.AST, set[str]] = {}
    for call in _method_calls(source.every(ast.Call), "apply_gradients"):
        keys = _given_keys(call)
        function = source.function(call)
        if function is not None:
            known = appliers.get(function, set())
            appliers[function] = known | _expanded(source, keys, function)
        yield _Site(call, keys, list(source.conditions(call)))
    if not appliers:
        return
    for call in source.every(ast.Call):
        site = _applying_site(source, call, appliers)
        if site is not None:
            yield site


def _method_calls(nodes: Iterable[ast.AST], name: str) -> Iterator[ast.Call]:
    """The calls of a method of this name among some nodes."""
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr == name:
            yield node


def _applying_site(
    source: Source, call: ast.Call, appliers: dict[ast.AST, set[str]]
) -> _Site | None:
    """A call of a function that applies gradients, by its name or through `tf.cond`."""
    found = source.callee(call)
    if found is not None and found.node in appliers:
        keys = _given_keys(call) | appliers[found.node]
        return _Site(call, keys, list(source.conditions(call)))
    if source.name(call.func) != "tf.cond":
        return None
    chosen, test = argument(call, "true_fn", 1), argument(call, "pred", 0)
    definition = source.definition(chosen) if chosen is not None else None
    if definition is None or test is None or definition.node not in appliers:
        return None
    return _Site(call, appliers[definition.node], [test, *source.conditions(call)])


def _given_keys(call: ast.Call) -> set[str]:
    """The names and `self.x` that the arguments of a call read."""
    return {key for item in (*call.args, *call.keywords) for key in _keys(item)}


def _keys(node: ast.AST) -> Iterator[str]:
    """The names and `self.x` that an expression reads."""
    for part in ast.walk(node):
        key = _key(part)
        if key:
            yield key


def _key(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _expanded(source: Source, keys: set[str], around: ast.AST) -> set[str]:
    """Keys, and those from which they are computed; what went through `tape.gradient` is a new
    thing."""
    grown = set(keys)
    while True:
        more = {
            key
            for node in own_nodes(around)
            if isinstance(node, ast.Assign) and not _has_gradient(source, node.value)
            if any(_key(target) in grown for target in node.targets)
            for key in _keys(node.value)
        }
        if more <= grown:
            return grown
        grown |= more


def _has_gradient(source: Source, node: ast.AST, deep: bool = True) -> bool:
    """Whether gradients are computed in a node, or in a function of this file that it calls."""
    for part in (node, *own_nodes(node)):
        if not isinstance(part, ast.Call):
            continue
        if isinstance(part.func, ast.Attribute) and part.func.attr in _GRADIENTS:
            return True
        found = source.callee(part) if deep else None
        if source.name(part.func) == "tf.gradients":
            return True
        if found is not None and any(
            _has_gradient(found.source, item, False) for item in own_nodes(found.node)
        ):
            return True
    return False


def _turn(source: Source, node: ast.AST) -> ast.AST | None:
    """What is run once per batch: the innermost loop that computes gradients, or else the
    function."""
    for loop in source.loops(node):
        if isinstance(loop, STATEMENT_LOOPS) and any(
            _has_gradient(source, item) for item in loop.body
        ):
            return loop
    return source.function(node)


def _resets(source: Source, site: _Site) -> Iterator[tuple[ast.AST, str]]:
    around = source.function(site.node) or source.tree
    keys = _expanded(source, site.keys, around)
    nodes = list(own_nodes(around))
    for node in nodes:
        added = _added(source, node) & keys
        turn = _turn(source, node) if added else None
        if turn is None or not _held_back(source, site, turn):
            continue
        for other in nodes:
            zeroed = _zeroed(source, other) & added
            if zeroed and _turn(source, other) is turn and not any(source.conditions(other, turn)):
                name = sorted(zeroed)[0]
                yield (
                    other,
                    f"`{name}` is set to zero in every batch, so nothing adds up in it between "
                    "updates",
                )


def _held_back(source: Source, site: _Site, turn: ast.AST) -> bool:
    """Whether gradients are applied less often than once per turn: after the loop, or when a
    counter says so."""
    if not source.within(site.node, turn):
        return isinstance(turn, STATEMENT_LOOPS) and _line(site.node) > (turn.end_lineno or 0)
    inside = [test for test in site.tests if source.within(test, turn)]
    return any(_counts(source, test, turn) for test in inside)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _counts(source: Source, test: ast.expr, turn: ast.AST) -> bool:
    """Whether a test is about a number of batches: a remainder, or a counter that the turn moves
    on."""
    nodes = list(own_nodes(turn))
    targets = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    moved = {_key(target) for target in targets if _key(target)}
    for call in _method_calls(nodes, "assign_add"):
        moved.add(_key(_receiver(call)))
    for part in ast.walk(test):
        if _is_remainder(source, part):
            return True
        if isinstance(part, (ast.Compare, ast.Call)) and moved.intersection(_keys(part)):
            return True
    return False


def _is_remainder(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod) and not isinstance(
            node.left, (ast.Constant, ast.JoinedStr)
        )
    return isinstance(node, ast.Call) and source.name(node.func) in _REMAINDERS


def _added(source: Source, node: ast.AST) -> set[str]:
    """The accumulators that a statement or call adds to."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return _held(source, node.target)
    for call in _method_calls([node], "assign_add"):
        return _held(source, _receiver(call))
    if isinstance(node, ast.Assign) and any(_is_sum(source, p) for p in ast.walk(node.value)):
        targets = {key for target in node.targets for key in _held(source, target)}
        return targets.intersection(_keys(node.value))
    return set()


def _receiver(call: ast.Call) -> ast.expr:
    """The object whose method is called."""
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def _is_sum(source: Source, node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add)
    return isinstance(node, ast.Call) and source.name(node.func) in _ADDS


def _zeroed(source: Source, node: ast.AST) -> set[str]:
    """The accumulators that a statement or call sets to zero."""
    if isinstance(node, ast.Assign) and _is_zero(source, node.value):
        return {key for target in node.targets for key in _held(source, target)}
    for call in _method_calls([node], "assign"):
        value = argument(call, "value", 0)
        if value is not None and _is_zero(source, value):
            return _held(source, _receiver(call))
    return set()


def _held(source: Source, target: ast.AST) -> set[str]:
    """The accumulator behind a target: `acc`, `acc[i]`, or a variable that a loop takes out of
    `acc`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    key = _key(target)
    if not key:
        return set()
    found = {key}
    for binding in source.reaching(target) if isinstance(target, ast.Name) else []:
        if binding.how is How.LOOP and binding.value is not None:
            found.update(_keys(binding.value))
    return found


def _is_zero(source: Source, value: ast.expr) -> bool:
    """Whether a value is zero, or is made of zeros only."""
    match value:
        case ast.Constant(value=constant):
            return constant is None or (constant == 0 and not isinstance(constant, bool))
        case ast.List(elts=items):
            return bool(items) and all(_is_zero(source, item) for item in items)
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part) | ast.Lambda(body=part):
            return _is_zero(source, part)
        case ast.BinOp(op=ast.Mult(), left=left):
            return isinstance(left, ast.List) and _is_zero(source, left)
        case ast.Call():
            return _makes_zeros(source, value)
        case _:
            return source.name(value) in _ZEROS


def _makes_zeros(source: Source, call: ast.Call) -> bool:
    """Whether a call makes zeros, or keeps or maps what makes them."""
    name = source.name(call.func)
    if name in _ZEROS:
        return True
    passes_on = name in _HOLDERS or name in _MAPPERS
    return passes_on and bool(call.args) and _is_zero(source, call.args[0])


def _counters(source: Source, site: _Site) -> Iterator[tuple[ast.AST, str]]:
    """Counters of batches that do not exist, or that no batch moves."""
    for test in site.tests:
        for part in ast.walk(test):
            if not isinstance(part, ast.BinOp) or not _is_remainder(source, part):
                continue
            names = [node for node in ast.walk(part.left) if isinstance(node, ast.Name)]
            missing = next((name for name in names if source.never_bound(name)), None)
            if missing is not None:
                text = "is never defined in this file, so that this test raises NameError"
                yield missing, f"`{missing.id}` {text}"
            elif _stands_still(source, part.left, names):
                text = "never changes in this loop, so that the test never changes either"
                yield names[0], f"`{names[0].id}` {text}"


def _stands_still(source: Source, left: ast.expr, names: list[ast.Name]) -> bool:
    """Whether a counter is a fixed number in every batch."""
    turn = _turn(source, left)
    simple = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.expr_context)
    if not names or not isinstance(turn, STATEMENT_LOOPS):
        return False
    return all(isinstance(node, simple) for node in ast.walk(left)) and all(
        isinstance(binding.value, ast.Constant)
        and binding.how is How.ASSIGN
        and not binding.remote
        and not source.within(binding.node, turn)
        for name in names
        for binding in source.reaching(name)
    )
