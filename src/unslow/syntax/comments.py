"""What `# unslow: ignore` and `# unslow: ignore[cause, cause]` comments silence."""

from __future__ import annotations

import io
import re
import tokenize

_COMMENT = re.compile(r"#\s*unslow:\s*ignore\b(?:\s*\[([^\]]*)\])?")


_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


class Ignores:
    """The silenced lines of a file. A comment on its own line applies to the next code line."""

    def __init__(self, text: str) -> None:
        self._lines: dict[int, set[str] | None] = {}  # None: every cause
        if "unslow" in text and _COMMENT.search(text):
            self._read(text)

    def _read(self, text: str) -> None:
        waiting: list[set[str] | None] = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found = _COMMENT.match(token.string)
                if found and token.line.lstrip().startswith("#"):
                    waiting.append(_causes(found))
                elif found:
                    self._silence(token.start[0], _causes(found))
            elif token.type not in _LAYOUT:
                for causes in waiting:
                    self._silence(token.start[0], causes)
                waiting.clear()

    def _silence(self, line: int, causes: set[str] | None) -> None:
        before = self._lines.get(line, set())
        self._lines[line] = None if before is None or causes is None else before | causes

    def covers(self, cause: str, lines: range) -> bool:
        """Whether a cause is silenced on one of the lines of a statement."""
        found = [self._lines[line] for line in lines if line in self._lines]
        return any(causes is None or cause in causes for causes in found)


def _causes(found: re.Match[str]) -> set[str] | None:
    listed = found.group(1)
    return None if listed is None else {item.strip() for item in listed.split(",") if item.strip()}
