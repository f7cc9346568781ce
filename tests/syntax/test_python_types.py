from __future__ import annotations

import ast

from unslow.syntax import Source
from unslow.syntax.python_types import PythonType, python_type


def test_a_list_that_is_filled_from_its_own_entries_is_one_of_numbers() -> None:
    source = Source(
        "series.py",
        "x = list(range(9))\nfor t in range(1, 9):\n    x[t] = x[t - 1]\nprint(x)\n",
    )
    printed = list(source.every(ast.Call))[-1].args[0]

    assert python_type(source, printed) is PythonType.LIST
