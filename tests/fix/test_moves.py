"""Every move in every kind of surroundings: it compiles, leaves other lines alone, and is done after once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.fix.lifting import lift
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import (
    delete,
    insert_after,
    insert_before,
    replace_expression,
    spelled,
)
from unslow.fix.moves.call_arguments import remove_keyword, rename_call, set_keyword
from unslow.fix.moves.decorators import decorate
from unslow.fix.moves.hoist import hoist_expression, hoist_statement
from unslow.fix.moves.merge_runs import merge_calls
from unslow.fix.moves.method_chain import add_link, swap_links
from unslow.fix.moves.run_every_n import guard

from .inputs import NAMES, SURROUNDINGS, Surroundings, holds


@dataclass(frozen=True)
class Case:
    """A snippet, the move on it (given its first line), the lines it may change, and what must then be there."""

    name: str
    snippet: str
    move: Callable[[Script, int], Script]
    touched: tuple[int, ...]
    gone: str
    come: str


CASES = [
    Case(
        "add a keyword",
        "model.fit(\n    x,  # data\n    y,  # labels\n)\n",
        lambda script, line: set_keyword(script, line, "fit", "verbose", "0"),
        (2,),
        "model.predict",
        "verbose=0,",
    ),
    Case(
        "change a keyword",
        "model.compile(opt, run_eagerly=True)  # go\n",
        lambda script, line: set_keyword(script, line, "compile", "run_eagerly", "False"),
        (0,),
        "run_eagerly=True",
        "model.compile(opt, run_eagerly=False)  # go",
    ),
    Case(
        "remove a keyword",
        "model.compile(opt, run_eagerly=True)  # go\n",
        lambda script, line: remove_keyword(script, line, "compile", "run_eagerly"),
        (0,),
        "run_eagerly",
        "model.compile(opt)  # go",
    ),
    Case(
        "rename a call",
        "for x in xs:\n    y = model.predict(x)[0]\n",
        lambda script, line: rename_call(script, line + 1, "predict", "predict_on_batch"),
        (1,),
        ".predict(",
        "y = model.predict_on_batch(x)[0]",
    ),
    Case(
        "decorate",
        "@first  # one\ndef step(a, b=2):\n    return a\n",
        lambda script, line: decorate(script, line + 2, {"reduce_retracing": "True"}),
        (),
        "never",
        "@tf.function(reduce_retracing=True)",
    ),
    Case(
        "hoist a statement",
        "for i in range(3):\n    use(i)\n    op = build(\n        graph)  # op\n    run(op)\n",
        lambda script, line: hoist_statement(script, line + 2),
        (2, 3),
        "never",
        "op = build(",
    ),
    Case(
        "hoist a function",
        "for i in range(3):\n    @compiled\n    def step(x):\n        '''Doc\n  odd'''\n        return x\n"
        "    step(i)\n",
        lambda script, line: hoist_statement(script, line + 2),
        (1, 2, 3, 4, 5),
        "never",
        "def step(x):",
    ),
    Case(
        "hoist an expression",
        "for i in range(3):\n    if i:\n        print(f'{sess.run(mean(loss))}')\n",
        lambda script, line: hoist_expression(script, line + 2, "mean(loss)", "mean_loss"),
        (2,),
        "run(mean(",
        "mean_loss = mean(loss)",
    ),
    Case(
        "merge two calls",
        "for i in range(3):\n    a = sess.run(x, f)\n    b = sess.run(y, feed_dict=f)  # b\n    use(a, b)\n",
        lambda script, line: merge_calls(script, line + 1, line + 2),
        (1, 2),
        "sess.run(y",
        "a, b = sess.run([x, y], f)",
    ),
    Case(
        "lift a part of a loop",
        "for x, y in ds:\n    # part\n    with tape as t:\n        loss = f(x, y)  # loss\n    g = '''\n  a''', t\n"
        "    use(loss)\n",
        lambda script, line: lift(script, line + 2, line + 4, "train_step"),
        (2, 3, 4, 5),
        "never",
        "loss = train_step(x, y)",
    ),
    Case(
        "guard by the loop's counter",
        "for i in range(30):\n    a(i)\n    print(\n        i)  # show\n",
        lambda script, line: guard(script, line + 2, 10),
        (2, 3),
        "never",
        "if i % 10 == 0:",
    ),
    Case(
        "guard with enumerate",
        "for x, y in ds:\n    a(x)\n    print(x, '''\n  raw''')\n",
        lambda script, line: guard(script, line + 2, 10),
        (0, 2, 3),
        "for x, y in ds",
        "for step, (x, y) in enumerate(ds):",
    ),
    Case(
        "guard in a while",
        "while go(on):\n    a(x)\n    print(x)\n",
        lambda script, line: guard(script, line + 2, 10),
        (2,),
        "never",
        "step += 1",
    ),
    Case(
        "append to a chain",
        "ds = (\n    source(x)\n    .map(f)  # map\n    .batch(3)\n)\n",
        lambda script, line: add_link(script, line, "prefetch(2)"),
        (1, 2, 3),
        "never",
        "    .batch(3)",
    ),
    Case(
        "put a link into a chain",
        "ds = source(x).map(f).batch(3)  # ds\n",
        lambda script, line: add_link(script, line, "cache()", after="map"),
        (0,),
        "map(f).batch",
        "ds = source(x).map(f).cache().batch(3)  # ds",
    ),
    Case(
        "swap two links",
        "ds = source(x).map(f).batch(3)\n",
        lambda script, line: swap_links(script, line, "map", "batch"),
        (0,),
        "map(f).batch",
        "source(x).batch(3).map(f)",
    ),
    Case(
        "delete a statement",
        "for i in range(3):\n    # why\n    print(\n        i)  # now\n",
        lambda script, line: delete(script, line + 2),
        (2, 3),
        "  # now",
        "pass",
    ),
    Case(
        "insert before",
        "# why\nfor i in range(3):\n    use(i)\n",
        lambda script, line: insert_before(script, line + 1, "if ready:\n    n = 0"),
        (),
        "never",
        "n = 0",
    ),
    Case(
        "insert after",
        "for i in range(3):\n    use(i)\n",
        lambda script, line: insert_after(script, line, "finish()"),
        (),
        "never",
        "finish()",
    ),
    Case(
        "replace an expression",
        "for i in range(3):\n    use(a.b (i) * 2)\n",
        lambda script, line: replace_expression(script, line + 1, "a.b(i)", "c + d"),
        (1,),
        "a.b",
        "use((c + d) * 2)",
    ),
    Case(
        "import a module",
        "for i in range(3):\n    use(i)\n",
        lambda script, line: spelled(script, "tf")[0],
        (),
        "never",
        "import tensorflow as tf",
    ),
]


@pytest.mark.parametrize("surroundings", SURROUNDINGS, ids=NAMES)
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_move_edits_what_it_names_and_nothing_else(
    case: Case, surroundings: Surroundings
) -> None:
    text, line = surroundings.around(case.snippet)
    before = Script("train.py", text)
    after = case.move(before, line)
    holds(before, after, [line + offset for offset in case.touched])
    normal = after.text.replace("\t", "    ").replace("\r\n", "\n")
    assert case.come in normal
    assert case.gone not in normal
    assert case.move(after, line) == after


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_move_is_done_also_for_who_has_only_the_two_texts(case: Case) -> None:
    text, line = SURROUNDINGS[1].around(case.snippet)
    after = case.move(Script("train.py", text), line)
    assert case.move(Script.continued("train.py", text, after.text), line) == after
