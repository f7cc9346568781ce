"""The IPython extension: `%load_ext unslow`, then `%%unslow`, `%unslow` and `%unslow_fix`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unslow.facts.json_object import JsonObject
from unslow.record.engine.notebook_page import (
    cells_of,
    display,
    kernel,
    made_by_unslow,
    named_cells,
)

_FIRST_LINE = "# %%unslow\n"  # takes the place of the magic's own line: line numbers stay right
_MAGIC = "%%unslow"
_NOTHING_YET = "unslow: nothing was recorded yet; put %%unslow at the top of a cell"


def load_ipython_extension(ipython: Any) -> None:
    """Register the magics."""
    magics = _Magics(ipython)
    ipython.register_magic_function(magics.cell, "cell", "unslow")
    ipython.register_magic_function(magics.line, "line", "unslow")
    ipython.register_magic_function(magics.fix, "line", "unslow_fix")


def unload_ipython_extension(ipython: Any) -> None:
    known = ipython.magics_manager.magics
    for kind, name in (("cell", "unslow"), ("line", "unslow"), ("line", "unslow_fix")):
        known[kind].pop(name, None)


@dataclass
class _Magics:
    """The magics of one kernel, and what they recorded so far."""

    ipython: Any
    cells: dict[str, int] = field(default_factory=dict)  # made-up file of a recorded cell → number
    folder: str = ""  # of the last recording

    def cell(self, line: str, cell: str) -> None:
        """Record this cell, then say why it is slow. `%%unslow FOLDER` records into FOLDER."""
        code = cell if cell.startswith("%%") else _FIRST_LINE + cell
        self._record(code, line.strip() or None)

    def line(self, line: str) -> None:
        """`%unslow STATEMENT` records one statement; `%unslow` alone shows the last report
        again."""
        if line.strip():
            above = _lines_above(self._raw_cell(), line.strip())
            # Comments, because IPython drops empty lines at the top.
            self._record("#\n" * above + line.strip(), None)
        elif self.folder:
            self._show()
        else:
            _say(_NOTHING_YET)

    def fix(self, line: str) -> None:
        """Show the fix of the last recording as corrected code, and put it into the next cell."""
        folder = line.strip() or self.folder
        if not folder:
            _say(_NOTHING_YET)
            return
        answer = made_by_unslow("fix", folder, "--format", "json")
        found: JsonObject = json.loads(answer) if answer else {"fixes": [], "files": {}}
        _say(named_cells(summary_of(found), self._numbers()))
        corrected = self._corrected(found["files"])
        if corrected:
            self.ipython.set_next_input(corrected)

    def _record(self, code: str, folder: str | None) -> None:
        from unslow.record.engine.inline import recording

        before = cells_of(self.ipython)
        number = max(before.values(), default=0)  # the cell with the magic was compiled last
        with recording(folder, report=False) as self.folder:
            self.ipython.run_cell(code).raise_error()
        # What it holds was compiled as a cell of its own, to which IPython gave the next number.
        cells = cells_of(self.ipython)
        self.cells.update({name: number for name in cells if cells[name] != before.get(name)})
        self._show()

    def _show(self) -> None:
        from unslow.record.engine.inline import show

        if kernel() is None or not display(self.ipython, self.folder, self._numbers()):
            show(self.folder)

    def _numbers(self) -> dict[str, int]:
        return {**cells_of(self.ipython), **self.cells}

    def _raw_cell(self, number: int | None = None) -> str:
        """A cell as it was typed: the one that is being executed unless a number is given."""
        history = self.ipython.history_manager.input_hist_raw
        index = len(history) - 1 if number is None else number
        return str(history[index]) if 0 <= index < len(history) else ""

    def _corrected(self, files: Mapping[str, str]) -> str:
        """The cells that a fix changes, in the order in which they were run."""
        numbers = self._numbers()
        changed = sorted((numbers[file], text) for file, text in files.items() if file in numbers)
        texts = [as_typed(text, self._raw_cell(number)) for number, text in changed]
        is_recorded = any(text.startswith(_MAGIC) for text in texts)
        plain = [text.removeprefix(f"{_MAGIC}\n").strip("\n") for text in texts]
        together = "\n\n".join(plain)
        return f"{_MAGIC}\n{together}" if is_recorded else together


def summary_of(found: JsonObject) -> str:
    """What each fix does, or why there is none, and the diff."""
    lines = []
    for row in found["fixes"]:
        lines.append(f"{row['cause']} at {row['line']}: {row['title']}")
        if row["refusal"]:
            lines.append(f"  no fix: {row['refusal']}")
        else:
            lines.append(f"  {row['fix']}  [{row['safety'].upper()}]  {row['note']}".rstrip())
    if not found["files"]:
        lines.append("unslow: there is nothing to fix automatically; see the report for what to do")
        return "\n".join(lines)
    lines += ["", found["diff"].rstrip(), "", "The corrected code is in the next cell."]
    return "\n".join(lines)


def as_typed(text: str, raw: str) -> str:
    """Corrected code with magics as they were typed, where IPython had replaced them line by
    line."""
    if _FIRST_LINE in text:  # an import that the fix needs may stand above it
        text = f"{_MAGIC}\n{text.replace(_FIRST_LINE, '', 1)}"
    commands = [line for line in raw.splitlines() if line.lstrip().startswith(("%", "!"))]
    lines = text.splitlines()
    replaced = [at for at, line in enumerate(lines) if "get_ipython()." in line]
    own = [line for line in commands if not line.startswith(_MAGIC)]
    if len(own) == len(replaced):
        for at, line in zip(replaced, own, strict=True):
            lines[at] = line
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _lines_above(cell: str, statement: str) -> int:
    """How many lines stand above a `%unslow STATEMENT` in its cell."""
    for number, line in enumerate(cell.splitlines()):
        if line.strip().startswith("%unslow") and line.strip().endswith(statement):
            return number
    return 0
