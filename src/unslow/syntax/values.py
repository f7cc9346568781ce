"""Texts and numbers that can be told without running: literals, joined paths, f-strings of known parts."""

from __future__ import annotations

import ast
import posixpath

from unslow.syntax.names import is_none
from unslow.syntax.scopes import Binding, How
from unslow.syntax.traced import Traced

_DEPTH = 20
_JOINS = ("os.path.join", "posixpath.join", "pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath")
_SAME = (
    "str",
    "os.fspath",
    "os.path.abspath",
    "os.path.expanduser",
    "os.path.normpath",
    "os.path.realpath",
)
_TEMPORARY = ("tempfile.gettempdir",)
_ENVIRONMENT = ("os.getenv", "os.environ.get")
_TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")


class Valued(Traced):
    """A tree that can tell the texts and numbers written in it."""

    def text_of(self, expression: ast.expr | None, depth: int = _DEPTH) -> str | None:
        """The text that an expression has whenever it runs; the temporary folder is `/tmp`."""
        if depth == 0 or expression is None:
            return None
        if isinstance(expression, ast.Constant):
            return expression.value if isinstance(expression.value, str) else None
        if isinstance(expression, (ast.Name, ast.Attribute)):
            return self._named_text(expression, depth)
        if isinstance(expression, ast.JoinedStr):
            return self._joined([*expression.values], "", depth)
        if isinstance(expression, ast.FormattedValue) and expression.format_spec is None:
            return self.text_of(expression.value, depth - 1)
        if isinstance(expression, ast.BinOp):
            separators = {ast.Add: "", ast.Div: "/"}
            separator = separators.get(type(expression.op))
            parts = [expression.left, expression.right]
            return self._joined(parts, separator, depth) if separator is not None else None
        if isinstance(expression, ast.Call):
            return self._called_text(expression, depth)
        if isinstance(expression, ast.Subscript) and self.name(expression.value) == "os.environ":
            return "/tmp" if self.text_of(expression.slice) in _TEMPORARY_VARIABLES else None
        return None

    def _named_text(self, expression: ast.Name | ast.Attribute, depth: int) -> str | None:
        if isinstance(expression, ast.Name):
            bindings = self.reaching(expression)
        else:
            bindings = self.attribute_bindings(expression)
        if len(bindings) != 1 or bindings[0].how is not How.ASSIGN or bindings[0].path:
            return None
        return self.text_of(bindings[0].value, depth - 1)

    def _called_text(self, call: ast.Call, depth: int) -> str | None:
        name = self.name(call.func)
        if name in _TEMPORARY:
            return "/tmp"
        if name in _ENVIRONMENT and call.args:
            return "/tmp" if self.text_of(call.args[0]) in _TEMPORARY_VARIABLES else None
        if name in _SAME and len(call.args) == 1:
            return self.text_of(call.args[0], depth - 1)
        if name in _JOINS and call.args:
            parts = [self.text_of(item, depth - 1) for item in call.args]
            known = [part for part in parts if part is not None]
            return posixpath.join(*known) if len(known) == len(parts) else None
        if isinstance(call.func, ast.Attribute) and call.func.attr == "joinpath":
            return self._joined([call.func.value, *call.args], "/", depth)
        return None

    def _joined(self, parts: list[ast.expr], separator: str, depth: int) -> str | None:
        texts = [self.text_of(part, depth - 1) for part in parts]
        known = [text for text in texts if text is not None]
        return separator.join(known) if len(known) == len(texts) else None

    def ending_of(self, expression: ast.expr | None, depth: int = _DEPTH) -> str | None:
        """The last characters of a text, where they can be told although the whole cannot."""
        whole = self.text_of(expression)
        if whole is not None or depth == 0 or expression is None:
            return whole
        last: ast.expr | None = None
        if isinstance(expression, ast.JoinedStr) and expression.values:
            last = expression.values[-1]
        elif isinstance(expression, ast.BinOp) and isinstance(expression.op, (ast.Add, ast.Div)):
            last = expression.right
        elif isinstance(expression, ast.Call):
            if self.name(expression.func) in (*_JOINS, *_SAME) and expression.args:
                last = expression.args[-1]
            elif isinstance(expression.func, ast.Attribute) and expression.func.attr == "format":
                form = self.text_of(expression.func.value)
                return form.rpartition("}")[2] if form is not None else None
        elif isinstance(expression, ast.Name):
            bindings = self.reaching(expression)
            if len(bindings) == 1 and bindings[0].how is How.ASSIGN and not bindings[0].path:
                last = bindings[0].value
        return self.ending_of(last, depth - 1)

    def maker(self, expression: ast.expr | None, depth: int = _DEPTH) -> ast.Call | None:
        """The call by whose name a value was made, followed through names, `self.x` and chained methods."""
        if depth == 0:
            return None
        if isinstance(expression, ast.Call):
            if self.full_name(expression.func) or not isinstance(expression.func, ast.Attribute):
                return expression
            return self.maker(expression.func.value, depth - 1)
        bindings: list[Binding] = []
        if isinstance(expression, ast.Name):
            bindings = self.reaching(expression)
        elif isinstance(expression, ast.Attribute):
            bindings = self.attribute_bindings(expression)
        values = [binding for binding in bindings if not is_none(binding)]
        if len(values) == 1 and values[0].how in (How.ASSIGN, How.WITH) and not values[0].path:
            return self.maker(values[0].value, depth - 1)
        return None

    def number_of(self, expression: ast.expr | None, depth: int = _DEPTH) -> float | None:
        """The number that an expression has whenever it runs."""
        if depth == 0 or expression is None:
            return None
        if isinstance(expression, ast.Constant):
            number = isinstance(expression.value, (int, float)) and not isinstance(
                expression.value, bool
            )
            return float(expression.value) if number else None  # type: ignore[arg-type]
        if isinstance(expression, ast.Name):
            bindings = self.reaching(expression)
            if len(bindings) == 1 and bindings[0].how is How.ASSIGN and not bindings[0].path:
                return self.number_of(bindings[0].value, depth - 1)
        return None
