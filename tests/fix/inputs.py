"""Assorted surroundings for the code that a move edits, and what must hold of every edit."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unslow.fix.edit.lines import Lines
from unslow.fix.edit.script import Script

Change = Callable[[str], str]


def _same(text: str) -> str:
    return text


@dataclass(frozen=True)
class Surroundings:
    """Code above and below, the depth (in levels of four spaces) at which the snippet stands, and the layout."""

    name: str
    above: str = ""
    below: str = ""
    depth: int = 0
    layout: Change = _same

    def around(self, snippet: str) -> tuple[str, int]:
        """The whole text and the number of the snippet's first line."""
        above = (
            textwrap.dedent(self.above).lstrip("\n") if self.above.startswith("\n") else self.above
        )
        body = textwrap.indent(textwrap.dedent(snippet).strip("\n") + "\n", "    " * self.depth)
        return self.layout(above + body + self.below), above.count("\n") + 1


def _tabs(text: str) -> str:
    return "".join(
        "\t" * ((len(row) - len(row.lstrip(" "))) // 4) + row.lstrip(" ")
        for row in text.splitlines(keepends=True)
    )


def _two_spaces(text: str) -> str:
    return "".join(
        " " * ((len(row) - len(row.lstrip(" "))) // 2) + row.lstrip(" ")
        for row in text.splitlines(keepends=True)
    )


SURROUNDINGS = [
    Surroundings("a plain module"),
    Surroundings("a function", "def main(ds, model):\n", "    return 1\n\nmain\n", 1),
    Surroundings(
        "a method with decorators",
        """
        import functools

        class Trainer:
            limit: int = 3

            @property
            def name(self): return "x"

            @functools.lru_cache(maxsize=None)  # kept
            def run(self, ds: list[int], *, n: int = 3) -> None:
                '''Runs.

                  Oddly   indented.
                '''
        """,
        "\n    def after(self): pass\n",
        2,
    ),
    Surroundings(
        "an outer for",
        "for epoch in range(3):\n    started = epoch  # when\n",
        "    ended = 1\n",
        1,
    ),
    Surroundings("an outer while", "while going():\n", "    going = stop\nelse:\n    done()\n", 1),
    Surroundings("both arms of an if", "if a:\n    b()\nelse:\n", "c()\n", 1),
    Surroundings("a with", "with open('f') as file, lock:\n", "    file.close()\n", 1),
    Surroundings(
        "a try",
        "try:\n",
        "except (OSError, ValueError) as e:\n    raise e\nfinally:\n    close()\n",
        1,
    ),
    Surroundings("tabs", "def main():\n    x = 1\n", "    return x\n", 1, _tabs),
    Surroundings(
        "CRLF",
        "def main():\n    '''a\n    b'''\n",
        "    return 2\n",
        1,
        lambda text: text.replace("\n", "\r\n"),
    ),
    Surroundings(
        "CRLF at module level", "import os\n", "x = 1\n", 0, lambda text: text.replace("\n", "\r\n")
    ),
    Surroundings("two spaces", "def main():\n    if a:\n", "    return 1\n", 2, _two_spaces),
    Surroundings(
        "type hints",
        "from __future__ import annotations\nfrom typing import Any\nx: int = 3\ny: dict[str, Any]\n"
        "def main(a: int, /, b: str = 'x', *args: int, **kw: Any) -> tuple[int, ...]:\n",
        "    z: list[int] = []\n    return (1, 2)\n",
        1,
    ),
    Surroundings(
        "comments everywhere",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# about\n\n\ndef main():  # main\n    # before\n",
        "    # behind\n# odd\n    return 1  # done\n# the end\n",
        1,
    ),
    Surroundings(
        "strings with odd content",
        '''
        text = """
          for x in y:
        \tdo(x)
        """
        label = f"{text!r:>{10}} {'a' 'b'} {{}}" rf"\\d{text}"
        ''',
        'bytes_ = b"""\n  raw\n"""\nprint(f"""{text}\n   {label=}\n""")\n',
    ),
    Surroundings(
        "walrus and lambdas",
        "if (n := len('abc')) > 2: print(n)\nkey = lambda v, *, w=1: (v, w)\nrows = [m for k in 'ab' if (m := k)]\n",
        "while (line := key(1)) is None: pass\n",
    ),
    Surroundings(
        "async", "async def main():\n    async with lock as l:\n", "    await close()\n", 2
    ),
    Surroundings("semicolons", "a = 1; b = 2; c = 3\nif a: b = 3; c = 4\n", "d = 4; e = 5;\n"),
    Surroundings(
        "line continuation",
        "total = 1 + \\\n    2\nassert total, \\\n  'no'\n",
        "total = \\\n  3\n",
    ),
    Surroundings(
        "multi-line calls",
        "print(\n    'a',  # first\n    *(\n        1,\n    ),\n)\nvalue = {\n    'k': [\n    1],\n}\n",
        "print('a',\n      'b'\n)\n",
    ),
    Surroundings("no line ending at the end", "import os\n", "", 0, lambda text: text.rstrip("\n")),
    Surroundings("a byte order mark", "import os\n", "x = 1\n", 0, lambda text: "\ufeff" + text),
    Surroundings(
        "other scripts and form feeds", "größe = 'é🎉'\n\x0c\nclass Ä: pass\n", "ж = größe  # 🎉\n"
    ),
    Surroundings(
        "match",
        "match command.split():\n    case ['go', where]:\n        go(where)\n    case _:\n",
        "done()\n",
        2,
    ),
    Surroundings(
        "nested functions and classes",
        "class A:\n    class B:\n        def f(self):\n            def g(x):\n",
        "                return x\n            return g\n",
        4,
    ),
    Surroundings(
        "trailing blanks", "x = 1   \n   \n\t\ndef main():   \n", "   \n    return 1   \n\n\n", 1
    ),
    Surroundings("a main guard", "import os\n\nif __name__ == '__main__':\n", "", 1),
]
NAMES = [item.name for item in SURROUNDINGS]


def holds(before: Script, after: Script, touched: Sequence[int]) -> None:
    """An edit compiles, leaves the other lines byte-identical and in order, and still knows where they are."""
    compile(after.text.removeprefix("\ufeff"), "edited", "exec")
    assert before.text.startswith("\ufeff") == after.text.startswith("\ufeff")
    old, new = Lines(before.text.removeprefix("\ufeff")), Lines(after.text.removeprefix("\ufeff"))
    places = []
    for line in range(1, old.count + 1):
        if line in touched:
            continue
        place = after.now(line)
        assert place is not None, f"line {line} is lost"
        assert new.content(place) == old.content(line)
        places.append(place)
    assert places == sorted(set(places))
    if "\r\n" in before.text and "\n" not in before.text.replace("\r\n", ""):
        assert "\n" not in after.text.replace("\r\n", "")
