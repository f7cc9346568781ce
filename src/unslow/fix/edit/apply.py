"""Composes fixes, tells whether the files are still those that ran, and writes them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from unslow.cause import Cause, load
from unslow.errors import UnslowError
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.plan import is_library
from unslow.model import Diagnosis, Finding, Fix, Refusal, Run
from unslow.proof.trials import Side
from unslow.runfolder import layout as runfile


@dataclass(frozen=True)
class Step:
    """One fix in turn: the texts before it and after it, all earlier fixes included; or why there is none."""

    finding: Finding
    fix: Fix | Refusal
    before: Mapping[str, str]
    after: Mapping[str, str]


class Composition:
    """Fixes in rank order, each made on what the ones before it left; a rejected one leaves no trace."""

    def __init__(self, diagnosis: Diagnosis, only: str | None = None) -> None:
        self._diagnosis = diagnosis
        self._only = only
        self.texts: dict[str, str] = {}

    def steps(self) -> Iterator[Step]:
        causes = {cause.id: cause for cause in load()[0]}
        for index, finding in enumerate(self._diagnosis.findings):
            planned = self._diagnosis.fixes.get(index)
            if planned is None or (self._only and finding.cause != self._only):
                continue
            fix = (
                planned
                if isinstance(planned, Refusal)
                else self._again(causes[finding.cause], finding, planned)
            )
            after = {**self.texts, **fix.files} if isinstance(fix, Fix) else self.texts
            yield Step(finding, fix, dict(self.texts), dict(after))

    def accept(self, step: Step) -> None:
        self.texts = dict(step.after)

    def _again(self, cause: Cause, finding: Finding, planned: Fix) -> Fix | Refusal:
        """The same fix on the texts as they are by now; planned ones were made for the recorded texts."""
        where = finding.location
        if not self.texts or where is None or not set(planned.files) & set(self.texts):
            return planned
        recorded = self._diagnosis.run.sources[where.file]
        try:
            script = Script.continued(where.file, recorded, self.texts.get(where.file, recorded))
            fix = cause.fix(finding, script)
        except CannotEdit as reason:
            return Refusal(f"it overlaps with a fix above: {reason}", where)
        return fix or Refusal("a fix above has already changed this place", where)


def side_of(run: Run, folder: str, texts: Mapping[str, str] | None = None) -> Side:
    """The recorded command again: same words, directory, environment and input, from the recorded sources."""
    header = runfile.read_header(folder)
    if not run.command:
        raise UnslowError(
            "cannot run it again",
            "the run has no command",
            "Record it with `unslow run`.",
            "cannot-prove",
        )
    stdin = str(header.get("stdin") or "")
    # A recorded PYTHONPATH begins with our own way in, which a trial puts there itself.
    env = {
        key: value
        for key, value in dict(header.get("environment") or {}).items()
        if key != "PYTHONPATH"
    }
    sources = {
        file: text
        for file, text in run.sources.items()
        if not file.startswith("<") and not is_library(file)
    }
    repeats = bool(run.loops) and not run.training
    return Side(run.command, run.cwd, {**sources, **(texts or {})}, env, stdin or None, repeats)


def check_unchanged(run: Run, files: Mapping[str, str]) -> None:
    """Every file must still be as it was recorded."""
    for file in files:
        path = Path(run.cwd) / file
        try:
            now = path.read_bytes().decode("utf-8", "surrogatepass")
        except OSError:
            raise UnslowError(
                f"cannot change {file}", "it is no longer there", "Record again.", "source-changed"
            ) from None
        if _lines(now) != _lines(run.sources.get(file, "")):
            raise UnslowError(
                f"cannot change {file}",
                "it has changed since the run",
                "Record it again: unslow run …",
                "source-changed",
            )


def write(run: Run, texts: Mapping[str, str]) -> list[str]:
    """Write new texts in one move per file, with the mode and the line endings it had."""
    check_unchanged(run, texts)
    for file, text in texts.items():
        path = (Path(run.cwd) / file).resolve()
        ending = b"\r\n" if b"\r\n" in path.read_bytes() else b"\n"
        data = _lines(text).encode("utf-8", "surrogatepass").replace(b"\n", ending)
        draft, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(draft, "wb") as out:
            out.write(data)
        Path(name).chmod(path.stat().st_mode & 0o7777)
        Path(name).replace(path)
    return list(texts)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
