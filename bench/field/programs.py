"""The programs of `field/programs` and what an expert says about each."""

from __future__ import annotations

import ast
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "field" / "programs"
EXPERT, TWIN = "expert.json", "twin.diff"
KINDS = ("time", "start", "memory")


@dataclass(frozen=True)
class Fault:
    """Something an expert would change: the causes and lines that count as right, best first."""

    causes: tuple[str, ...]
    lines: tuple[str, ...]
    kind: str  # time, start or memory
    why: str


@dataclass(frozen=True)
class Program:
    """A program of the field suite."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def expert(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / EXPERT).read_text(encoding="utf-8"))
        return found

    @property
    def command(self) -> list[str]:
        return [str(word) for word in self.expert["command"]]

    @property
    def environment(self) -> dict[str, str]:
        return {str(name): str(value) for name, value in self.expert.get("env", {}).items()}

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """The most harmful one first; none for a healthy program."""
        return tuple(
            Fault(tuple(fault["causes"]), tuple(fault["lines"]), fault["kind"], fault["why"])
            for fault in self.expert["faults"]
        )

    @property
    def healthy(self) -> bool:
        return not self.faults

    @property
    def about_memory(self) -> bool:
        return any(fault.kind == "memory" for fault in self.faults)

    @property
    def tolerated(self) -> set[str]:
        """Causes that are true and may be mentioned in a lower place."""
        return set(self.expert.get("tolerated", ()))

    @property
    def wrong(self) -> set[str]:
        """Causes that would be clearly wrong to name; `*` for all of them."""
        return set(self.expert.get("wrong", ()))

    @cached_property
    def sources(self) -> dict[str, str]:
        files = sorted(self.folder.rglob("*.py"))
        return {str(f.relative_to(self.folder)): f.read_text(encoding="utf-8") for f in files}

    @property
    def twin(self) -> str:
        """The expert's change as a diff; empty for healthy programs."""
        path = self.folder / TWIN
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def twin_lines(self) -> int:
        """Lines that the expert's change adds or removes, whichever are more."""
        rows = self.twin.splitlines()
        added = sum(row.startswith("+") and not row.startswith("+++") for row in rows)
        removed = sum(row.startswith("-") and not row.startswith("---") for row in rows)
        return max(added, removed)

    @cached_property
    def digest(self) -> str:
        """Of all that is run: what was measured with another text is measured again."""
        whole = hashlib.sha256()
        for file in sorted(path for path in self.folder.rglob("*") if path.is_file()):
            if file.name != EXPERT:
                whole.update(str(file.relative_to(self.folder)).encode() + file.read_bytes())
        whole.update(json.dumps([self.command, self.environment]).encode())
        return whole.hexdigest()[:16]

    def same_statement(self, one: str, other: str) -> bool:
        """Whether two lines `file:line` belong to one simple statement, or to one header."""
        if one == other:
            return True
        (file, line), (other_file, other_line) = _split(one), _split(other)
        if file != other_file or file not in self.sources:
            return False
        return any(
            first <= line <= last and first <= other_line <= last
            for first, last in _spans(self.sources[file])
        )


def _split(where: str) -> tuple[str, int]:
    file, _, line = where.rpartition(":")
    return file, int(line)


def _spans(source: str) -> list[tuple[int, int]]:
    """First and last line of every simple statement, and of the header of every compound one."""
    spans = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        spans.append((node.lineno, max(node.lineno, last)))
    return spans


def all_programs() -> list[Program]:
    return [Program(path.parent) for path in sorted(PROGRAMS.glob(f"*/{EXPERT}"))]
