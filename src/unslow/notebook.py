"""The IPython extension: `%load_ext unslow`, then `%%unslow` at the top of a cell."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SOURCE = Path(__file__).resolve().parents[1]
_FIRST_LINE = "# %%unslow\n"  # takes the place of the magic's own line: line numbers stay right
_FRAME = """\
<iframe srcdoc="{page}" style="width: 100%; height: {height}px; border: 0" title="unslow"
 onload="this.style.height = Math.min({most},
 this.contentWindow.document.documentElement.scrollHeight + 20) + 'px'"></iframe>"""
_HEIGHT, _MOST_HEIGHT = 600, 1200  # pixels: before the page is there, and at most


def load_ipython_extension(ipython: Any) -> None:
    """Register the cell magic."""
    ipython.register_magic_function(_cell(ipython), "cell", "unslow")


def unload_ipython_extension(ipython: Any) -> None:
    ipython.magics_manager.magics["cell"].pop("unslow", None)


def _cell(ipython: Any) -> Any:
    recorded: dict[str, int] = {}  # the cells that were recorded so far

    def unslow(line: str, cell: str) -> None:
        """Record this cell, then say why it is slow. `%%unslow FOLDER` records into FOLDER."""
        from unslow.record.engine.inline import recording, show

        code = cell if cell.startswith("%%") else _FIRST_LINE + cell
        can_show_pages = hasattr(ipython, "kernel")
        before = cells_of(ipython)
        number = max(before.values(), default=0)  # the cell with the magic was compiled last
        with recording(line.strip() or None, report=not can_show_pages) as folder:
            ipython.run_cell(code).raise_error()
        # What it holds was compiled as a cell of its own, to which IPython gave the next number.
        cells = cells_of(ipython)
        recorded.update({name: number for name in cells if cells[name] != before.get(name)})
        if can_show_pages and not _display(folder, {**cells, **recorded}):
            show(folder)

    return unslow


def _display(folder: str, cells: Mapping[str, int]) -> bool:
    """Show the report below the cell: as a page, and as text where pages cannot be shown."""
    import IPython.display

    display: Any = IPython.display.display
    text = _report(folder, "markdown")
    if not text:
        return False
    shown = {"text/plain": named_cells(text, cells)}
    page = _report(folder, "html")
    if page:
        shown["text/html"] = framed(named_cells(page, cells))
    display(shown, raw=True)
    return True


def _report(folder: str, form: str) -> str:
    """A report, made by a process of its own so that none of our imports meet the user's."""
    path = os.pathsep.join(filter(None, (str(_SOURCE), os.environ.get("PYTHONPATH"))))
    made = subprocess.run(
        [sys.executable, "-m", "unslow", "why", folder, "--format", form],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return made.stdout if made.returncode == 0 else ""


def framed(page: str) -> str:
    """The page in a frame of its own, as high as its content."""
    return _FRAME.format(page=html.escape(page), height=_HEIGHT, most=_MOST_HEIGHT)


def cells_of(ipython: Any) -> dict[str, int]:
    """The number of each cell by the file name that IPython made up for it.

    `_filename_map` is private; seen in IPython 8 and 9. Without it the made-up names are shown.
    """
    return dict(getattr(ipython.compile, "_filename_map", {}))


def named_cells(text: str, cells: Mapping[str, int]) -> str:
    """The text of a report with `cell 7, line 3` in the place of made-up files and their lines."""
    numbers = {Path(name).name: number for name, number in cells.items() if number}
    if not numbers:
        return text
    names = "|".join(map(re.escape, numbers))
    place = re.compile(rf"[\w./\\-]*(?<![\w-])(?P<name>{names})(?::(?P<line>\d+))?")

    def named(found: re.Match[str]) -> str:
        cell = f"cell {numbers[found['name']]}"
        return f"{cell}, line {found['line']}" if found["line"] else cell

    return place.sub(named, text)
