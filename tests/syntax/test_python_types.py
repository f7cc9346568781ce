from __future__ import annotations

import ast

import pytest

from unslow.fix.edit.script import Script
from unslow.syntax import Source
from unslow.syntax.python_types import PythonType, python_type


def test_a_list_that_is_filled_from_its_own_entries_is_one_of_numbers() -> None:
    source = Source(
        "series.py",
        "x = list(range(9))\nfor t in range(1, 9):\n    x[t] = x[t - 1]\nprint(x)\n",
    )
    printed = list(source.every(ast.Call))[-1].args[0]

    assert python_type(source, printed) is PythonType.LIST


_NET = """\
class Net:
    def __init__(self, rate=0.1):
        self.rate, self.size = rate, 3

    def scale(self, by=None):
        return use(self.rate if by is None else by)

    def keep(self, by=None):
        return use(by)
"""


def _type_in(method: str, modules: dict[str, str]) -> PythonType | None:
    script = Script("net.py", _NET, {"net.py": _NET, **modules})
    calls = [call for call in script.every(ast.Call) if script.function_of(call)]
    call = next(item for item in calls if getattr(script.function_of(item), "name", "") == method)
    return python_type(script, call.args[0])


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("", PythonType.FLOAT),
        ("Net(0.2).scale(1.0)", PythonType.FLOAT),
        ("Net(rate=tensor()).scale()", None),
        ("Net(*[tensor()]).scale()", None),
        ("Net().scale(tensor())", None),
        ("Net().scale(**given)", None),
        ("each(Net().scale)", None),
        ("class Other(Net):\n    pass", None),
    ],
)
def test_a_number_with_a_default_is_judged_by_the_calls_of_every_file(
    other: str, expected: PythonType | None
) -> None:
    assert _type_in("scale", {"train.py": f"from net import Net\n{other}\n"}) is expected


def test_none_that_nobody_tests_for_may_be_computed_with() -> None:
    assert _type_in("keep", {}) is None
