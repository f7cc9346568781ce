"""Programs made up at random say the same after a move as before it, or the move is refused."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fix.lifting import lift
from unslow.fix.edit.lines import Lines, Splice, moved, spliced
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.hoist import hoist_expression, hoist_statement
from unslow.fix.moves.merge_runs import merge_calls
from unslow.fix.moves.run_every_n import guard

NAMES = ["a", "b", "c", "d", "x"]
names = st.sampled_from(NAMES)
values = st.one_of(
    names,
    st.integers(0, 5).map(str),
    st.builds("{} + {}".format, names, names),
    st.builds("f({}, {})".format, names, names),
    st.builds("[{0} * v for v in ({1}, 2)][0]".format, names, names),
    st.builds("(w := {} + 1) + w".format, names),
    st.builds("(lambda q: q + {})(2)".format, names),
)
plain = st.one_of(
    st.builds("{} = {}".format, names, values),
    st.builds("{} += {}".format, names, values),
    st.builds("{}, {} = {}, {}".format, names, names, values, values),
    st.builds("log({})".format, values),
    st.builds("xs.append({})".format, values),
    st.just("log(RAW)"),
    st.just("pass"),
)


def _indented(body: list[str]) -> str:
    return textwrap.indent("\n".join(body), "    ")


blocks = st.deferred(lambda: st.lists(statements, min_size=1, max_size=4))
statements: st.SearchStrategy[str] = st.one_of(
    plain,
    plain,
    st.builds(lambda test, body: f"if {test} % 2:\n{_indented(body)}", names, blocks),
    st.builds(
        lambda test, body, other: f"if {test} > 3:\n{_indented(body)}\nelse:\n{_indented(other)}",
        names,
        blocks,
        blocks,
    ),
    st.builds(lambda name, body: f"for {name} in range(2):\n{_indented(body)}", names, blocks),
    st.builds(lambda body: f"with context():\n{_indented(body)}", blocks),
    st.builds(
        lambda body, other: f"try:\n{_indented(body)}\nexcept ValueError as x:\n{_indented(other)}",
        blocks,
        blocks,
    ),
    st.builds(
        lambda name, body: f"if {name} > 2: log({name}); {name} = 1\n{_indented(body)}".split("\n")[
            0
        ],
        names,
        blocks,
    ),
)
RAW = "'''\n  raw\n'''"  # put in last: its inside must never be indented
HEAD = """
class context:
    def __enter__(self): pass
    def __exit__(self, *problem): pass
def f(p, q): return p * 2 + q
def reader(): return a + b
seen = []
def log(value): seen.append(value)
"""
START = "a = 1; b = 2; c = 3; d = 4; x = 5; xs = []\n"


def _program(body: list[str], in_function: bool, shown: list[str]) -> tuple[str, int, list[int]]:
    """A program whose loop holds the statements, the loop's line, and the lines of the statements."""
    rows = (
        START
        + "for i in range(3):\n"
        + _indented(body)
        + "\n"
        + f"log(({', '.join(shown)},)); log(list(xs))\n"
    )
    if in_function:
        text = HEAD + "def main():\n" + _indented(rows.split("\n")) + "\nmain()\n"
    else:
        text = HEAD + rows + "log(reader())\n"
    first = text[: text.index("for i in range(3)")].count("\n") + 1
    lines, at = [], first + 1
    for row in body:
        lines.append(at)
        at += row.count("\n") + 1 + row.count("RAW") * RAW.count("\n")
    return text.replace("RAW", RAW), first, lines


def _run(text: str) -> object:
    space: dict[str, object] = {}
    try:
        exec(compile(text, "program", "exec"), space)
    except (NameError, UnboundLocalError, OverflowError, RecursionError) as problem:
        return type(problem)
    return space["seen"]


def _agrees(text: str, move: Callable[[Script], Script]) -> bool:
    """Whether the move was made; what it gives must run as before and be final."""
    before = Script("program.py", text)
    expected = _run(text)
    try:
        after = move(before)
    except CannotEdit as refusal:
        assert refusal.reason
        return False
    if isinstance(expected, list):
        assert _run(after.text) == expected, after.text
    assert move(after) == after
    return True


relaxed = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
body = st.lists(statements, min_size=1, max_size=6)
shown = st.lists(names, min_size=1, max_size=3)


@relaxed
@given(body, st.booleans(), shown, st.data())
def test_a_lifted_part_runs_as_it_did_in_place(
    body: list[str], in_function: bool, shown: list[str], data: st.DataObject
) -> None:
    text, _, lines = _program(body, in_function, shown)
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    _agrees(text, lambda script: lift(script, lines[first], lines[last], "lifted"))


@relaxed
@given(body, st.booleans(), shown, st.data())
def test_a_hoisted_statement_gives_the_same(
    body: list[str], in_function: bool, shown: list[str], data: st.DataObject
) -> None:
    assigned = data.draw(st.builds("{} = {}".format, names, values))
    place = data.draw(st.integers(0, len(body)))
    body = [*body[:place], assigned, *body[place:]]
    text, _, lines = _program(body, in_function, shown)
    _agrees(text, lambda script: hoist_statement(script, lines[place]))


@relaxed
@given(body, st.booleans(), shown, st.data())
def test_a_hoisted_expression_gives_the_same(
    body: list[str], in_function: bool, shown: list[str], data: st.DataObject
) -> None:
    expression = data.draw(st.builds("f({}, {})".format, names, st.one_of(names, st.just("1"))))
    place = data.draw(st.integers(0, len(body)))
    body = [*body[:place], f"log({expression} + 1)", *body[place:]]
    text, _, lines = _program(body, in_function, shown)
    _agrees(text, lambda script: hoist_expression(script, lines[place], expression))


@relaxed
@given(body, st.booleans(), shown, st.data())
def test_a_statement_guarded_to_run_every_time_gives_the_same(
    body: list[str], in_function: bool, shown: list[str], data: st.DataObject
) -> None:
    text, _, lines = _program(body, in_function, shown)
    line = lines[data.draw(st.integers(0, len(lines) - 1))]
    _agrees(text, lambda script: guard(script, line, 1))


calls = st.one_of(
    st.builds("{} = run({}, {})".format, names, names, st.sampled_from(["a", "b", "{'k': a}"])),
    st.builds("{}, {} = run([{}, {}], a)".format, names, names, names, names),
    st.builds("run({}, a)".format, names),
    st.builds("log(run({}, a) + 1)".format, names),
    st.builds("{} += run({}, a)".format, names, names),
)
SESSION = """
def run(fetches, feed=0):
    if isinstance(fetches, list):
        return [run(item, feed) for item in fetches]
    return fetches * 3 + (feed['k'] if isinstance(feed, dict) else feed)
"""


@relaxed
@given(calls, st.lists(plain, max_size=2), calls, shown)
def test_merged_calls_give_what_the_two_gave(
    first: str, between: list[str], second: str, shown: list[str]
) -> None:
    body = [first, *between, second]
    text, _, lines = _program(body, False, shown)
    text = SESSION + text
    shift = SESSION.count("\n")
    _agrees(text, lambda script: merge_calls(script, lines[0] + shift, lines[-1] + shift))


@relaxed
@given(st.text("ab\n\r é", max_size=40), st.data())
def test_lines_that_no_splice_touches_are_found_again(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pairs = list(zip(places[::2], places[1::2], strict=False))
    splices = [Splice(low, high, data.draw(st.text("xy\n", max_size=5))) for low, high in pairs]
    after, spans = spliced(text, splices)
    old, new = Lines(text), Lines(after)
    for line, place in enumerate(moved(old, new, splices, spans)):
        assert 0 <= place <= new.count
        whole = line and all(
            splice.end < old.start(line) or splice.start > old.stop(line) for splice in splices
        )
        if whole and "\r" not in text:
            assert new.content(place) == old.content(line)
