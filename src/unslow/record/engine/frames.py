"""Which frames of a stack are the user's own, and which loop a line of theirs stands in."""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType

from unslow.record.engine.foreign import Foreign
from unslow.record.engine.thread_stacks import Line

_OURS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))  # the package
# Packages that train, compute or start other people's code are never the user's.
_FOREIGN = ("tensorflow", "keras", "tf_keras", "numpy", "absl", "IPython", "ipykernel")
_MADE_UP = ("<frozen", "<__array_function__", "<string>", "<decorator")

_MOST_PLACES = 5000
_ASKS = frozenset(("locals", "vars", "dir", "eval", "exec"))

Place = tuple[str, int, str]  # file, line, function


def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    found = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"], _OURS}
    found.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    found.add(site.getusersitepackages() if hasattr(site, "getusersitepackages") else _OURS)
    folders = {os.path.abspath(folder) for folder in found} | {
        os.path.realpath(folder) for folder in found
    }
    return tuple(folder + os.sep for folder in folders)


class UserCode:
    """Distinguishes the user's files from libraries; remembers the answer per file."""

    def __init__(self) -> None:
        self._libraries = _library_folders()
        self._known: dict[str, bool] = {}
        self._places: dict[tuple[int, int], tuple[CodeType, Place]] = {}
        self._trees: dict[str, ast.AST | None] = {}

    def owns(self, code: CodeType) -> bool:
        known = self._known.get(code.co_filename)
        return self.owns_file(code.co_filename) if known is None else known

    def owns_file(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._is_user_file(name)
        return known

    @property
    def files(self) -> int:
        """How many files are known so far."""
        return len(self._known)

    def has_seen(self, name: str) -> bool:
        """Whether a file is already known to be the user's."""
        return self._known.get(name, False)

    def _is_user_file(self, name: str) -> bool:
        if name.startswith("<"):
            return name.startswith(("<stdin", "<ipython-input")) and not name.startswith(_MADE_UP)
        try:
            path = os.path.abspath(name)
        except (OSError, ValueError):  # the program's folder is gone
            return False
        if "__autograph_generated_file" in path:
            return False
        if any(
            f"{os.sep}{folder}{os.sep}" in path for folder in ("site-packages", "dist-packages")
        ):
            return self._is_main_package(path)
        return not path.startswith(self._libraries)

    @staticmethod
    def _is_main_package(path: str) -> bool:
        """An installed package that is the program itself (`python -m package`) is the user's."""
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        package = getattr(sys.modules.get("__main__"), "__package__", None) or ""
        if not main or not package or package.partition(".")[0] in _FOREIGN:
            return False
        depth = package.count(".") + 1
        folder = os.path.abspath(main)
        for _ in range(depth):
            folder = os.path.dirname(folder)
        return path.startswith(folder + os.sep)

    def stack(self, frame: FrameType | None, limit: int = 12) -> list[Place]:
        """The user's frames, innermost first."""
        return [place for place, _ in self.frames(frame, limit)]

    def of_traceback(self, frames: Sequence[Foreign], until: str = "") -> Iterator[Place]:
        """The user's frames of a traceback that TensorFlow kept of an op, innermost first.

        `until`: frames outside of this function only called it.
        """
        for frame in reversed(frames):
            if frame.name == until:
                return
            if self.owns_file(frame.filename):
                yield frame.filename, frame.lineno, frame.name

    def frames(self, frame: FrameType | None, limit: int = 12) -> Iterator[tuple[Place, FrameType]]:
        while frame is not None and limit:
            code = frame.f_code
            if self.owns(code):
                yield (
                    (
                        code.co_filename,
                        frame.f_lineno or _line_at(code, frame.f_lasti),
                        code.co_name,
                    ),
                    frame,
                )
                limit -= 1
            frame = frame.f_back

    def places(self, lines: Iterable[Line], limit: int) -> list[Place]:
        """The same of a stack that was read from another thread."""
        mine = (line for line in lines if self.owns(line[0]))
        return [self._place(code, last) for code, last in itertools.islice(mine, limit)]

    def _place(self, code: CodeType, last: int) -> Place:
        known = self._places.get((id(code), last))
        if known is None:
            if len(self._places) > _MOST_PLACES:
                self._places.clear()
            place = (code.co_filename, _line_at(code, last), code.co_name)
            known = self._places[id(code), last] = (
                code,
                place,
            )  # the code is kept, so that its id stays its own
        return known[1]

    def innermost(self, frame: FrameType | None) -> Place | None:
        return next((place for place, _ in self.frames(frame, 1)), None)

    def loop_around(self, place: Place, column: int | None = None) -> tuple[int, int] | None:
        """First and last line of the innermost loop around a place, within its function."""
        file, line, function = place
        if file not in self._trees:
            self._trees[file] = _parsed(file)
        tree = self._trees[file]
        if tree is None:
            return None
        return _loop_at(tree, line, column, function.endswith(("comp>", "genexpr>")), None)


def _line_at(code: CodeType, last: int) -> int:
    """The line of a frame that stands at a jump, which has none: the last one before it."""
    line = code.co_firstlineno
    for start, _, found in code.co_lines():
        if start > last:
            break
        line = found or line
    return line


def local_names(frame: FrameType) -> list[tuple[str, Foreign]]:
    """The names of a function's own and what they stand for; nothing is left behind.

    Before Python 3.13 a frame keeps the dict that it is asked for: it would keep alive what the
    function drops, and it is the very one that the program itself got from `locals()`.
    """
    code = frame.f_code
    if not code.co_flags & CO_OPTIMIZED or not _ASKS.isdisjoint(code.co_names):
        return []
    held = frame.f_locals
    found = list(held.items())
    if sys.version_info < (3, 13):
        held.clear()
    return found


def column_of(frame: FrameType) -> int | None:
    """Where on its line a frame is (Python 3.11 and later)."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or frame.f_lasti < 0:
        return None
    for index, position in enumerate(positions()):
        if index == frame.f_lasti // 2:
            found = position[2]
            return found if isinstance(found, int) else None
    return None


def _parsed(file: str) -> ast.AST | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_STATEMENTS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_Lines = tuple[int, int]


def _loop_at(
    node: ast.AST, line: int, column: int | None, inside: bool, loop: _Lines | None
) -> _Lines | None:
    """Walk down to the line; entering a function forgets the loops around its definition."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or sys.maxsize
    if isinstance(node, _FUNCTIONS) and line > first:
        loop = None
    elif (isinstance(node, _STATEMENTS) and _in_body(node, line)) or (
        isinstance(node, _COMPREHENSIONS) and _in_comprehension(node, line, column, inside)
    ):
        loop = (first, last)
    for child in ast.iter_child_nodes(node):
        start = getattr(child, "lineno", 0)
        if not start or start <= line <= (getattr(child, "end_lineno", None) or sys.maxsize):
            found = _loop_at(child, line, column, inside, loop)
            if found != loop:
                return found
    return loop


def _in_body(node: ast.For | ast.AsyncFor | ast.While, line: int) -> bool:
    """The header of a `for` and any `else` are not the body."""
    first, last = node.body[0].lineno, node.body[-1].end_lineno or sys.maxsize
    return first <= line <= last or (isinstance(node, ast.While) and line == node.lineno)


def _in_comprehension(node: ast.AST, line: int, column: int | None, inside: bool) -> bool:
    """Whether a call is in a comprehension, not beside it: by the frame's name or the column."""
    element = getattr(node, "elt", None) or getattr(node, "value", None)
    if not isinstance(element, ast.expr) or not element.lineno <= line <= (
        element.end_lineno or line
    ):
        return False
    if column is None:
        return inside
    end = element.end_col_offset or 0
    return element.lineno < (element.end_lineno or 0) or element.col_offset <= column < end
