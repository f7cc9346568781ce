"""Broken recipe: gradient accumulators that are reset in every batch, or a stuck counter."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from unslow.cause import Cause, Spot
from unslow.syntax import STATEMENT_LOOPS, How, Source, argument, own_nodes
from unslow.syntax.accumulators import (
    added_to,
    key_of,
    keys_in,
    zeroed_by,
)
from unslow.syntax.nodes import given_values, method_of, receiver_of

_GRADIENTS = ("gradient", "compute_gradients", "jacobian")
_REMAINDERS = (
    "tf.math.floormod",
    "tf.math.mod",
    "tf.floormod",
    "tf.mod",
    "numpy.mod",
    "numpy.remainder",
)
_PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.expr_context)
_INSTEAD = (
    "keras.optimizers.Adam(..., gradient_accumulation_steps=n) and apply_gradients in every batch; "
    "by hand: create the accumulators before the loop and zero them only where they are applied"
)

_Seen = tuple[ast.AST, str]  # a node, and what is wrong with it


class AccumulationReset(Cause):
    """
    What happens
    Gradients should be summed over n batches and then applied. But the accumulators are set to
    zero in every batch, or the counter that decides when to apply them is never defined or never
    changes.

    Why it is slow
    The code does not do what it says. If the accumulators are reset in every batch, only the n-th
    batch is applied, divided by n: the work of the other batches is lost, and the model learns n
    times more slowly. An undefined counter raises NameError; with a counter that never changes,
    nothing is ever applied.

    The fix
    Let Keras accumulate: `keras.optimizers.Adam(…, gradient_accumulation_steps=n)`, with
    `apply_gradients` (or `fit`) in every batch. By hand: create the accumulators once, before the
    loop, and set them to zero only in the branch that applies them; count with `for i, batch in
    enumerate(dataset)`.

    When we are wrong
    If the counter's test is true in every batch, each batch is applied by itself on purpose.
    """

    title = "gradients are set to zero before they can add up"
    ran = False

    def spot(self, source: Source) -> Iterable[Spot]:
        seen: set[ast.AST] = set()
        for site in _sites(source):
            for node, text in (*_resets(source, site), *_stuck_counters(source, site)):
                if node not in seen:
                    seen.add(node)
                    yield source.spot(node, text, _INSTEAD)


@dataclass(frozen=True)
class _Site:
    """A place where gradients are applied: what goes in, and the tests that decide."""

    node: ast.AST
    keys: set[str]
    tests: Sequence[ast.expr]


def _sites(source: Source) -> Iterator[_Site]:
    """Calls of `apply_gradients`, and of the user's functions that call it."""
    appliers: dict[ast.AST, set[str]] = defaultdict(set)
    for call in source.every(ast.Call):
        if method_of(call) != "apply_gradients":
            continue
        keys = _given_keys(call)
        function = source.function(call)
        if function is not None:
            appliers[function] |= _expanded(source, keys, function)
        yield _Site(call, keys, list(source.conditions(call)))
    for call in source.every(ast.Call) if appliers else ():
        yield from _applying_site(source, call, appliers)


def _applying_site(
    source: Source, call: ast.Call, appliers: dict[ast.AST, set[str]]
) -> Iterator[_Site]:
    """A call of a function that applies gradients, by its name or through `tf.cond`."""
    tests = list(source.conditions(call))
    found = source.callee(call)
    if found is not None and found.node in appliers:
        yield _Site(call, _given_keys(call) | appliers[found.node], tests)
    elif source.name(call.func) == "tf.cond":
        test, chosen = argument(call, "pred", 0), argument(call, "true_fn", 1)
        definition = source.definition(chosen) if chosen is not None else None
        if test is not None and definition is not None and definition.node in appliers:
            yield _Site(call, appliers[definition.node], [test, *tests])


def _given_keys(call: ast.Call) -> set[str]:
    return set().union(*map(keys_in, given_values(call)))


def _expanded(source: Source, keys: set[str], around: ast.AST) -> set[str]:
    """Keys, and those they are computed from; gradients of them are something else."""
    assigns = [node for node in own_nodes(around) if isinstance(node, ast.Assign)]
    plain = [node for node in assigns if not _has_gradient(source, node.value)]
    grown, size = set(keys), -1
    while len(grown) > size:
        size = len(grown)
        for node in plain:
            if any(key_of(target) in grown for target in node.targets):
                grown |= keys_in(node.value)
    return grown


def _has_gradient(source: Source, node: ast.AST, deep: bool = True) -> bool:
    """Whether gradients are computed in a node, or in a function that it calls."""
    for part in (node, *own_nodes(node)):
        if not isinstance(part, ast.Call):
            continue
        if method_of(part) in _GRADIENTS or source.name(part.func) == "tf.gradients":
            return True
        found = source.callee(part) if deep else None
        if found is not None:
            body = own_nodes(found.node)
            if any(_has_gradient(found.source, item, False) for item in body):
                return True
    return False


def _turn(source: Source, node: ast.AST) -> ast.AST | None:
    """What runs once per batch: the innermost loop that computes gradients, else the function."""
    loops = [loop for loop in source.loops(node) if isinstance(loop, STATEMENT_LOOPS)]
    for loop in loops:
        if any(_has_gradient(source, item) for item in loop.body):
            return loop
    return source.function(node)


def _resets(source: Source, site: _Site) -> Iterator[_Seen]:
    """Accumulators that are set to zero in the turn that adds to them, without a condition."""
    around = source.function(site.node) or source.tree
    keys = _expanded(source, site.keys, around)
    nodes = list(own_nodes(around))
    for node in nodes:
        added = added_to(source, node) & keys
        turn = _turn(source, node) if added else None
        if turn is None or not _is_held_back(source, site, turn):
            continue
        for other in nodes:
            zeroed = zeroed_by(source, other) & added
            if zeroed and _is_in_every_turn(source, other, turn):
                text = "is set to zero in every batch, so nothing adds up between updates"
                yield other, f"`{min(zeroed)}` {text}"


def _is_in_every_turn(source: Source, node: ast.AST, turn: ast.AST) -> bool:
    return _turn(source, node) is turn and not any(source.conditions(node, turn))


def _is_held_back(source: Source, site: _Site, turn: ast.AST) -> bool:
    """Whether gradients are applied less than once per turn: after the loop, or by a counter."""
    if not source.within(site.node, turn):
        line = getattr(site.node, "lineno", 0)
        return isinstance(turn, STATEMENT_LOOPS) and line > (turn.end_lineno or 0)
    inside = [test for test in site.tests if source.within(test, turn)]
    return any(_counts(source, test, turn) for test in inside)


def _counts(source: Source, test: ast.expr, turn: ast.AST) -> bool:
    """Whether a test counts batches: by a remainder, or by a counter that the turn increases."""
    nodes = list(own_nodes(turn))
    moved = {key_of(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
    moved |= {key_of(receiver_of(node)) for node in nodes if method_of(node) == "assign_add"}
    for part in ast.walk(test):
        if _is_remainder(source, part):
            return True
        if isinstance(part, (ast.Compare, ast.Call)) and moved & keys_in(part):
            return True
    return False


def _is_remainder(source: Source, node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Mod(), left=left):
            return not isinstance(left, (ast.Constant, ast.JoinedStr))  # a format
        case ast.Call(func=function):
            return source.name(function) in _REMAINDERS
    return False


def _stuck_counters(source: Source, site: _Site) -> Iterator[_Seen]:
    """Counters of batches that do not exist, or that no batch changes."""
    parts = [part for test in site.tests for part in ast.walk(test)]
    for part in parts:
        if not isinstance(part, ast.BinOp) or not _is_remainder(source, part):
            continue
        names = [node for node in ast.walk(part.left) if isinstance(node, ast.Name)]
        missing = next((name for name in names if source.never_bound(name)), None)
        if missing is not None:
            text = "is never defined in this file, so this test raises NameError"
            yield missing, f"`{missing.id}` {text}"
        elif names and _is_fixed(source, part.left, names):
            text = "never changes in this loop, so this test never changes either"
            yield names[0], f"`{names[0].id}` {text}"


def _is_fixed(source: Source, counter: ast.expr, names: Iterable[ast.Name]) -> bool:
    """Whether a counter is the same number in every batch."""
    turn = _turn(source, counter)
    is_plain = all(isinstance(node, _PLAIN) for node in ast.walk(counter))
    if not is_plain or not isinstance(turn, STATEMENT_LOOPS):
        return False
    bindings = [binding for name in names for binding in source.reaching(name)]
    for binding in bindings:
        is_constant = binding.how is How.ASSIGN and isinstance(binding.value, ast.Constant)
        if not is_constant or binding.remote or source.within(binding.node, turn):
            return False
    return True
