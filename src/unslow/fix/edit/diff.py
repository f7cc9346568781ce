"""Unified diffs as `git apply` and `patch -p1` take them."""

from __future__ import annotations

import difflib
import re

_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f]*')


def unified_diff(path: str, before: str, after: str, context: int = 3) -> str:
    """The change of one file, empty without one; lines end at `\\n` only, so `\\r` is content."""
    if before == after:
        return ""
    name = path.replace("\\", "/") if re.match(r"[A-Za-z]:\\", path) else path
    name = name.removeprefix("./").lstrip("/")
    rows = difflib.unified_diff(
        _lines(before), _lines(after), _quoted(f"a/{name}"), _quoted(f"b/{name}"), n=context
    )
    return "".join(
        row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows
    )


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _quoted(name: str) -> str:
    """A file name as git writes it: quoted where it holds quotes or control characters."""
    if _PLAIN.fullmatch(name):
        # The tab tells where a name with spaces ends.
        return f"{name}\t" if " " in name else name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\{ord(found.group()):03o}", escaped) + '"'
    )
