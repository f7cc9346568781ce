"""What a move cannot do without changing the meaning, it refuses: with the reason and its line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fix.lifting import lift
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.edit.statements import delete, insert_after, replace_expression
from unslow.fix.moves.call_arguments import set_keyword
from unslow.fix.moves.decorators import decorate
from unslow.fix.moves.hoist import hoist_expression, hoist_statement
from unslow.fix.moves.merge_runs import merge_calls
from unslow.fix.moves.method_chain import add_link, pipeline_end, swap_links
from unslow.fix.moves.run_every_n import guard

Move = Callable[[Script], Script]


def _hoist(line: int) -> Move:
    return lambda script: hoist_statement(script, line)


def _hoist_f(line: int, code: str = "f(y)") -> Move:
    return lambda script: hoist_expression(script, line, code)


def _lift(first: int, last: int) -> Move:
    return lambda script: lift(script, first, last, "part")


def _merge(first: int, second: int) -> Move:
    return lambda script: merge_calls(script, first, second)


def _guard(line: int) -> Move:
    return lambda script: guard(script, line, 10)


REFUSED: list[tuple[str, Move, str, int]] = [
    # Hoisting
    ("for x in xs:\n    y = f(x)\n    use(y)\n", _hoist(2), "depends on `x`", 2),
    ("for x in xs:\n    z = g(x)\n    y = f(z)\n", _hoist(3), "depends on `z`", 3),
    ("for x in xs:\n    n = n + 1\n", _hoist(2), "depends on `n`", 2),
    ("for x in xs:\n    y = f(z)\n    z = g()\n", _hoist(2), "depends on `z`", 2),
    ("for x in xs:\n    y = f(ys)\n    ys.append(1)\n", _hoist(2), "depends on `ys`", 2),
    ("for x in xs:\n    y = f(self.n)\n    self.n += 1\n", _hoist(2), "depends on `self.n`", 2),
    ("for x in xs:\n    y = f(d)\n    d['k'] = x\n", _hoist(2), "depends on `d`", 2),
    (
        "def g():\n    global n\n    n = 2\nfor x in xs:\n    y = f(n)\n    g()\n",
        _hoist(5),
        "depends on `n`",
        5,
    ),
    (
        "class A:\n    def g(self):\n        self.n = 1\n    def h(self):\n        for x in xs:\n"
        "            y = f(self.n)\n            self.g()\n",
        _hoist(6),
        "depends on `self.n`",
        6,
    ),
    ("for x in xs:\n    use(y)\n    y = f()\n", _hoist(3), "read in the loop before", 3),
    ("for x in xs:\n    y = f()\n    y = g(x)\n", _hoist(2), "bound elsewhere", 2),
    ("while y:\n    y = f()\n", _hoist(2), "first line reads", 2),
    ("for x in xs:\n    if x:\n        y = f()\n", _hoist(3), "not directly in a loop", 3),
    ("y = f()\n", _hoist(1), "not directly in a loop", 1),
    ("for x in xs:\n    break\n", _hoist(2), "steers", 2),
    ("async def f():\n    for x in xs:\n        y = await g()\n", _hoist(3), "steers", 3),
    ("for x in xs:\n    def g():\n        return x\n", _hoist(2), "depends on `x`", 2),
    ("for x in xs:\n    a = 1; b = 2\n", _hoist(2), "share this line", 2),
    ("for x in xs: y = f(1)\n", _hoist(1), "not directly in a loop|share", 1),
    ("for y in ys:\n    use(f(y))\n", _hoist_f(2), "depends on `y`", 2),
    ("for x in xs:\n    use([f(y) for y in x])\n", _hoist_f(2), "depends on `y`", 2),
    ("for x in xs:\n    use(lambda y: f(y))\n", _hoist_f(2), "depends on `y`", 2),
    ("for x in xs:\n    with tape:\n        use(f(y))\n", _hoist_f(3), "inside a `with`", 2),
    (
        "for x in xs:\n    use((z := f(y)))\n",
        _hoist_f(2, "(z := f(y))"),
        "more than give a value",
        2,
    ),
    ("use(f(y))\n", _hoist_f(1), "not in a loop", 1),
    ("for x in xs:\n    use(1)\n", _hoist_f(2), "not on this line", 2),
    # Lifting
    ("for x in xs:\n    a = f(x)\n    break\n", _lift(2, 3), "leaves the block", 3),
    ("for x in xs:\n    if x:\n        continue\n    a = 1\n", _lift(2, 4), "leaves the block", 3),
    (
        "def g():\n    for x in xs:\n        a = f(x)\n        return a\n",
        _lift(3, 4),
        "leaves the block",
        4,
    ),
    ("def g():\n    for x in xs:\n        yield x\n", _lift(3, 3), "leaves the block", 3),
    (
        "def g():\n    for x in xs:\n        global n\n        n = x\n",
        _lift(3, 4),
        "outer scope",
        3,
    ),
    (
        "for x in xs:\n    if x:\n        a = 1\n    use(a)\n",
        _lift(2, 3),
        "`a` is not bound on every path",
        2,
    ),
    ("class A:\n    for x in xs:\n        a = x\n", _lift(3, 3), "class body", 3),
    (
        "def g(self):\n    for x in xs:\n        super().f(x)\n",
        _lift(3, 3),
        "`super` means something else",
        3,
    ),
    ("for x in xs:\n    a = f(x)\nb = 1\n", _lift(2, 3), "same block", 3),
    # Merging
    ("a = s.run(x, f)\nb = s.run(y, g)\n", _merge(1, 2), "different feeds", 2),
    ("a = s.run(x, f)\nb = t.run(y, f)\n", _merge(1, 2), "same object", 2),
    ("a = s.run(x, f)\nb = s.run(a, f)\n", _merge(1, 2), "depends on `a`", 1),
    ("a = s.run(x, f)\nf = g()\nb = s.run(y, f)\n", _merge(1, 3), "depends on `f`", 2),
    ("a = s.run(x, f)\nf[k] = 1\nb = s.run(y, f)\n", _merge(1, 3), "depends on `f`", 2),
    ("a = s.run(x, f)\nuse(b)\nb = s.run(y, f)\n", _merge(1, 3), "`b` is used between", 2),
    (
        "a = s.run(x, f)\nc = s.run(z, f)\nb = s.run(y, f)\n",
        _merge(1, 3),
        "between the two calls",
        2,
    ),
    ("a = s.run(x, {p: n()})\nb = s.run(y, {p: n()})\n", _merge(1, 2), "computed anew", 1),
    ("a = s.run(x, f)\nif q:\n    b = s.run(y, f)\n", _merge(1, 3), "same block", 3),
    ("a = s.run(x, f)\nb = q and s.run(y, f)\n", _merge(1, 2), "not made every time", 2),
    ("a = s.run(x, f)\nb = c = s.run(y, f)\n", _merge(1, 2), "several targets", 2),
    ("a = s.run(*x)\nb = s.run(*x)\n", _merge(1, 2), "cannot be told", 1),
    ("a = s.run(x)\nb = 2\n", _merge(1, 2), "not called on line 2", 2),
    # Guarding
    ("for x in xs:\n    y = f(x)\n    use(y)\n", _guard(2), "`y` is read afterwards", 2),
    ("def g(): return y\nfor x in xs:\n    y = f(x)\n", _guard(3), "`y` is read afterwards", 3),
    ("for x in xs:\n    if y: break\n", _guard(2), "steers", 2),
    ("f(x)\n", _guard(1), "not in a loop", 1),
    ("for i in xs:\n    if i % 5 == 0:\n        f(i)\n", _guard(3), "every 5 steps", 3),
    # Calls and chains
    ("f(v for v in a)\n", lambda s: set_keyword(s, 1, "f", "k", "1"), "bare generator", 1),
    ("f(**k)\n", lambda s: set_keyword(s, 1, "f", "k", "1"), "unpacks a dictionary", 1),
    ("x = 1\n", lambda s: set_keyword(s, 1, "f", "k", "1"), "not called on line 1", 1),
    ("x = 1\n", lambda s: decorate(s, 1, {}), "in no function", 1),
    ("x = 1\n", lambda s: add_link(s, 1, "cache()"), "no chain", 1),
    (
        "d = s.map(f)\n",
        lambda s: add_link(s, 1, "cache()", after="batch"),
        "`.batch` is not called",
        1,
    ),
    (
        "d = s.map(f).cache().batch(2)\n",
        lambda s: swap_links(s, 1, "map", "batch"),
        "does not follow",
        1,
    ),
    ("d = (s.map(f)).batch(2)\n", lambda s: swap_links(s, 1, "map", "batch"), "parentheses", 1),
    ("a = 1; b = 2\n", lambda s: delete(s, 1), "share this line", 1),
    ("if a: b = 2\n", lambda s: insert_after(s, 2, "c()"), "no statement", 2),
    ("x = 1\n", lambda s: replace_expression(s, 1, "y", "z"), "is not on line 1", 1),
    ("x = f(f'{y}')\n", lambda s: replace_expression(s, 1, "y", "{1: 2}"), "around|compile", 1),
]


@pytest.mark.parametrize(
    ("text", "move", "reason", "line"), REFUSED, ids=[f"{row[2]}: {row[0]!r}" for row in REFUSED]
)
def test_a_move_that_would_change_the_meaning_is_refused(
    text: str, move: Move, reason: str, line: int
) -> None:
    with pytest.raises(CannotEdit, match=reason) as found:
        move(Script("train.py", text))
    assert found.value.line == line


MADE: list[tuple[str, Move, str]] = [
    (
        "for e in es:\n    for x in xs:\n        op = f(g)\n        run(op, x, e)\n",
        _hoist(3),
        "op = f(g)\nfor e in es:\n    for x in xs:\n        run(op, x, e)\n",
    ),
    (
        "for e in es:\n    g = h(e)\n    for x in xs:\n        op = f(g)\n        run(op, x)\n",
        _hoist(4),
        "for e in es:\n    g = h(e)\n    op = f(g)\n    for x in xs:\n        run(op, x)\n",
    ),
    (
        "for x in xs:\n    with tf.Session() as s:\n        s.run(f(y))\nimport tensorflow as tf\n",
        _hoist_f(3),
        "f_once = f(y)\nfor x in xs:\n    with tf.Session() as s:\n        s.run(f_once)\nimport tensorflow as tf\n",
    ),
    (
        "for x in xs:\n    use(a\n        + b)\n",
        _hoist_f(2, "a + b"),
        "value = (a\n        + b)\nfor x in xs:\n    use(value)\n",
    ),
    (
        "for x in xs:\n    self.n = 1\n    y = f(self.m)\n    use(y)\n",
        _hoist(3),
        "y = f(self.m)\nfor x in xs:\n    self.n = 1\n    use(y)\n",
    ),
    ("a, b = s.run([x, y], f)\nc = s.run(z, f)\n", _merge(1, 2), "a, b, c = s.run([x, y, z], f)\n"),
    ("a = s.run([x, y], f)\nc = s.run(z, f)\n", _merge(1, 2), "a, c = s.run([[x, y], z], f)\n"),
    ("s.run(t, f)\n(a, b) = s.run((x, y), f)\n", _merge(1, 2), "_, a, b = s.run([t, x, y], f)\n"),
    ("s.run(t)\ns.run(u)\n", _merge(1, 2), "s.run([t, u])\n"),
    (
        "s.run(t, f)\nprint(s.run(x, f))\n",
        _merge(1, 2),
        "_, value = s.run([t, x], f)\nprint(value)\n",
    ),
    ("use(_)\ns.run(t)\na = s.run(x)\n", _merge(2, 3), "use(_)\nunused, a = s.run([t, x])\n"),
    (
        "for x in xs:\n    a = f(x)\n    n += 1\n    use(a, n)\n",
        _lift(2, 3),
        "def part(x, n):\n    a = f(x)\n    n += 1\n    return a, n\n\n\n"
        "for x in xs:\n    a, n = part(x, n)\n    use(a, n)\n",
    ),
    (
        "def main():\n    m = make()\n    for x in xs:\n        t = m(x)\n        log(t)\n",
        _lift(4, 5),
        "def main():\n    m = make()\n\n    def part(x):\n        t = m(x)\n        log(t)\n\n"
        "    for x in xs:\n        part(x)\n",
    ),
    (
        "for i, x in enumerate(xs):\n    f(x)\n",
        _guard(2),
        "for i, x in enumerate(xs):\n    if i % 10 == 0:\n        f(x)\n",
    ),
    (
        "for i in range(0, 99, 3):\n    f(i)\n",
        _guard(2),
        "for step, i in enumerate(range(0, 99, 3)):\n    if step % 10 == 0:\n        f(i)\n",
    ),
    (
        "async def g():\n    async for x in xs:\n        f(x)\n",
        _guard(3),
        "async def g():\n    step = 0\n    async for x in xs:\n"
        "        if step % 10 == 0:\n            f(x)\n        step += 1\n",
    ),
    (
        "d = s.map(f, 4)\n",
        lambda s: set_keyword(s, 1, "map", "num_parallel_calls", "AUTO", 1),
        "d = s.map(f, AUTO)\n",
    ),
    (
        "d = s.map(f)\n",
        lambda s: set_keyword(s, 1, "map", "num_parallel_calls", "AUTO", 1),
        "d = s.map(f, num_parallel_calls=AUTO)\n",
    ),
    (
        "d = s.map(f) \\\n    .batch(2)\n",
        lambda s: add_link(s, 1, "prefetch(1)"),
        "d = s.map(f) \\\n    .batch(2) \\\n    .prefetch(1)\n",
    ),
    (
        "@tf.function(jit_compile=True)\ndef f(): pass\nimport tensorflow as tf\n",
        lambda s: decorate(s, 2, {"jit_compile": "False", "reduce_retracing": "True"}),
        "@tf.function(jit_compile=False, reduce_retracing=True)\ndef f(): pass\nimport tensorflow as tf\n",
    ),
]


@pytest.mark.parametrize(("text", "move", "expected"), MADE, ids=[row[2] for row in MADE])
def test_a_move_writes_what_one_would_write_by_hand(text: str, move: Move, expected: str) -> None:
    assert move(Script("train.py", text)).text == expected


def test_the_end_of_a_pipeline_is_its_last_binding() -> None:
    text = "ds = make(x)\nother = 1\nds = ds.map(f)\nds = ds.batch(2)\nfor x in ds: pass\n"
    assert pipeline_end(Script("train.py", text), 1) == 4
