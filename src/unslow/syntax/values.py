"""Texts and numbers known without running: literals, joined paths, f-strings."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Sequence

from unslow.syntax.names import sole_value
from unslow.syntax.nodes import argument, receiver_of, words
from unslow.syntax.traced import Traced

_DEPTH = 20
_JOINS = words("os.path.join posixpath.join pathlib.Path pathlib.PurePath pathlib.PosixPath")
_SAME = words("str os.fspath os.path.abspath os.path.expanduser os.path.normpath os.path.realpath")
_ENVIRONMENT = words("os.getenv os.environ.get")
_TEMPORARY_VARIABLES = words("TMPDIR TEMP TMP")
_SEPARATORS: dict[type[ast.operator], str] = {ast.Add: "", ast.Div: "/"}


class Valued(Traced):
    """A tree that knows the texts and numbers written in it."""

    def text_of(self, expression: ast.expr | None, depth: int = _DEPTH) -> str | None:
        """The text that an expression has whenever it runs; the temporary folder is `/tmp`."""
        if depth == 0:
            return None
        match expression:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name() | ast.Attribute():
                return self.text_of(self.only_value(expression), depth - 1)
            case ast.JoinedStr(values=parts):
                return self._joined(parts, "", depth)
            case ast.FormattedValue(value=inner, format_spec=None):
                return self.text_of(inner, depth - 1)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _SEPARATORS:
                return self._joined([left, right], _SEPARATORS[type(operator)], depth)
            case ast.Call():
                return self._called_text(expression, depth)
            case ast.Subscript(value=holder, slice=key) if self.name(holder) == "os.environ":
                return self._temporary(key)
        return None

    def _called_text(self, call: ast.Call, depth: int) -> str | None:
        name = self.name(call.func)
        if name == "tempfile.gettempdir":
            return "/tmp"
        if name in _ENVIRONMENT:
            return self._temporary(argument(call, "key", 0))
        if name in _SAME:
            return self.text_of(argument(call, "path", 0), depth - 1)
        if name in _JOINS:
            parts = self._texts(call.args, depth)
            return posixpath.join(*parts) if parts else None
        match call.func:
            case ast.Attribute(value=folder, attr="joinpath"):
                return self._joined([folder, *call.args], "/", depth)
        return None

    def _temporary(self, variable: ast.expr | None) -> str | None:
        return "/tmp" if self.text_of(variable) in _TEMPORARY_VARIABLES else None

    def _texts(self, parts: Sequence[ast.expr], depth: int) -> list[str] | None:
        """The texts of several expressions, None unless all are known."""
        texts = [self.text_of(part, depth - 1) for part in parts]
        known = [text for text in texts if text is not None]
        return known if len(known) == len(texts) else None

    def _joined(self, parts: Sequence[ast.expr], separator: str, depth: int) -> str | None:
        texts = self._texts(parts, depth)
        return None if texts is None else separator.join(texts)

    def ending_of(self, expression: ast.expr | None, depth: int = _DEPTH) -> str | None:
        """The last characters of a text, where they are known although the whole is not."""
        whole = self.text_of(expression)
        if whole is not None or depth == 0:
            return whole
        match expression:
            case ast.JoinedStr(values=[*_, last]):
                return self.ending_of(last, depth - 1)
            case ast.BinOp(op=ast.Add() | ast.Div(), right=last):
                return self.ending_of(last, depth - 1)
            case ast.Call(func=ast.Attribute(value=form, attr="format")):
                text = self.text_of(form)
                return text.rpartition("}")[2] if text is not None else None
            case ast.Call(args=[*_, last]) if self.name(expression.func) in _JOINS | _SAME:
                return self.ending_of(last, depth - 1)
            case ast.Name():
                return self.ending_of(self.only_value(expression), depth - 1)
        return None

    def maker(self, expression: ast.expr | None, depth: int = _DEPTH) -> ast.Call | None:
        """The call that made a value, followed through names, `self.x` and chained methods."""
        if depth == 0:
            return None
        if isinstance(expression, ast.Call):
            receiver = None if self.full_name(expression.func) else receiver_of(expression)
            return expression if receiver is None else self.maker(receiver, depth - 1)
        return self.maker(sole_value(self.seen_bindings(expression)), depth - 1)

    def turns_of(self, loop: ast.AST) -> int | None:
        """Turns of a `for` over a written list or over `range`; None where they are not known."""
        match loop:
            case ast.For(iter=ast.List(elts=items) | ast.Tuple(elts=items)):
                return len(items)
            case ast.For(iter=ast.Call(func=function, args=bounds)) if bounds:
                numbers = [self.number_of(bound) for bound in bounds]
                known = [int(number) for number in numbers if number is not None]
                is_known = self.name(function) == "range" and len(known) == len(bounds)
                return len(range(*known)) if is_known else None
        return None

    def number_of(self, expression: ast.expr | None, depth: int = _DEPTH) -> float | None:
        """The number that an expression has whenever it runs."""
        match expression:
            case ast.Constant(value=bool()):
                return None
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name() if depth:
                return self.number_of(self.only_value(expression), depth - 1)
        return None
