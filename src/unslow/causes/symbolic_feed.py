"""Broken recipe: a tensor of the graph as a value in `feed_dict`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from unslow.cause import Cause, Spot
from unslow.syntax import TENSOR_LIKE, How, argument

if TYPE_CHECKING:
    from unslow.syntax import Source


class SymbolicFeed(Cause):
    """
    What happens

    A `feed_dict` gives a placeholder a tensor: what `iterator.get_next()` returned, another
    placeholder, the result of an op. It is often copied as the way to move from `feed_dict` to
    tf.data.

    Why it is slow

    It does not run at all: `Session.run` feeds values, and a tensor of the graph has none until it
    is run. It raises "TypeError: The value of a feed cannot be a tf.Tensor object"
    (NotImplementedError for a variable).

    The fix

    Build the model on the iterator's tensors instead of placeholders, and run without `feed_dict`;
    then the data never pass through Python. Where the placeholder must stay, run the tensor first
    and feed the array that it returns.

    When we are wrong

    When the name holds an array by the time it is fed, through code that this file does not show.
    """

    title = "a tensor is fed where a value is needed"
    ran = False

    def spot(self, source: Source) -> Iterable[Spot]:
        for call in source.session_runs():
            feed = argument(call, "feed_dict", 1)
            tensors = [value for value in _fed(source, feed) if _is_tensor(source, value)]
            if tensors:
                names = ", ".join(f"`{ast.unparse(value)}`" for value in tensors)
                held = "is a tensor" if len(tensors) == 1 else "are tensors"
                yield source.spot(
                    tensors[0],
                    f"{names} {held}, not a value: feeding it raises TypeError as soon as this "
                    "runs",
                    "build the model on the tensor itself and run without feed_dict, or feed "
                    "sess.run(tensor)",
                )


def _fed(source: Source, feed: ast.expr | None) -> Iterator[ast.expr]:
    """The values of a feed that is written in place, or given a name once."""
    if isinstance(feed, ast.Name):
        bindings = source.reaching(feed)
        if len(bindings) == 1 and bindings[0].how is How.ASSIGN and not bindings[0].path:
            yield from _fed(source, bindings[0].value)
            yield from _put_in(source, bindings[0].node, feed)
    elif isinstance(feed, ast.Dict):
        yield from feed.values


def _put_in(source: Source, made: ast.AST, feed: ast.Name) -> Iterator[ast.expr]:
    """The values of `feed[placeholder] = value` between the making of a feed and its use."""
    for assign in source.every(ast.Assign):
        for target in assign.targets if assign.lineno < feed.lineno else ():
            held = target.value if isinstance(target, ast.Subscript) else None
            if not isinstance(held, ast.Name) or held.id != feed.id:
                continue
            if [binding.node for binding in source.reaching(held)] == [made]:
                yield assign.value


def _is_tensor(source: Source, value: ast.expr) -> bool:
    if isinstance(value, (ast.List, ast.Tuple)):
        return any(_is_tensor(source, item) for item in value.elts)
    return source.kind(value) in TENSOR_LIKE
