"""A report below a notebook's cell: as a page, and as text where pages cannot be shown.

Lives in the user's kernel; the reports are made by processes of their own, so that none of our
imports meet the user's.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys

from unslow.record.engine.foreign import Foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
_FRAME = """\
<iframe srcdoc="{page}" style="width: 100%; height: {height}px; border: 0" title="unslow"
 onload="this.style.height = Math.min({most},
 this.contentWindow.document.documentElement.scrollHeight + 20) + 'px'"></iframe>"""
_HEIGHT, _MOST_HEIGHT = 600, 900  # pixels: before the page is there, and at most


def kernel() -> Foreign:
    """The IPython of a notebook's kernel; None in a script or a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if hasattr(shell, "kernel") else None


def display(ipython: Foreign, folder: str, cells: Mapping[str, int]) -> bool:
    """Show the report of a run; False where none could be made."""
    text = made_by_unslow("why", folder, "--format", "markdown")
    if not text:
        return False
    shown = {"text/plain": named_cells(text, cells)}
    page = made_by_unslow("why", folder, "--format", "html")
    if page:
        shown["text/html"] = framed(named_cells(page, cells))
    ipython.display_pub.publish(shown)
    return True


def made_by_unslow(*words: str) -> str:
    """What a command of unslow prints; nothing where it fails."""
    path = os.pathsep.join(filter(None, (_SOURCE, os.environ.get("PYTHONPATH"))))
    made = subprocess.run(
        [sys.executable, "-m", "unslow", *words],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return made.stdout if made.returncode == 0 else ""


def framed(page: str) -> str:
    """The page in a frame of its own, as wide as the cell and as high as its content."""
    return _FRAME.format(page=html.escape(page), height=_HEIGHT, most=_MOST_HEIGHT)


def cells_of(ipython: Foreign) -> dict[str, int]:
    """The number of each cell by the file name that IPython made up for it.

    `_filename_map` is private; seen in IPython 8 and 9. Without it the made-up names are shown.
    """
    return dict(getattr(ipython.compile, "_filename_map", {}))


def named_cells(text: str, cells: Mapping[str, int]) -> str:
    """The text of a report with `cell 7, line 3` in the place of made-up files and their lines.

    A cell is in no file that `unslow fix --apply` could write: the magic takes its place.
    """
    text = text.replace("unslow fix --apply", "%unslow_fix")
    numbers = {os.path.basename(name): number for name, number in cells.items() if number}
    if not numbers:
        return text
    names = "|".join(map(re.escape, numbers))
    place = re.compile(rf"[\w./\\-]*(?<![\w-])(?P<name>{names})(?::(?P<line>\d+))?")

    def named(found: re.Match[str]) -> str:
        cell = f"cell {numbers[found['name']]}"
        return f"{cell}, line {found['line']}" if found["line"] else cell

    return place.sub(named, text)
