"""Finds and reads the settings file, and says where every value comes from."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from unslow.errors import UnslowError, suggestion
from unslow.facts.json_object import JsonObject

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_KEYS = ("ignore", "min_share", "runs")
OWN_FILE, PROJECT_FILE = "unslow.toml", "pyproject.toml"
LEAST_SHARE = 0.05  # what `diagnose` itself takes for worth reporting


@dataclass(frozen=True)
class Known:
    """The names that a file may use. They are called for only when a file uses such a name."""

    commands: Collection[str]
    options: Callable[[str], Collection[str]]  # of a command
    causes: Callable[[], Collection[str]]


@dataclass(frozen=True)
class Settings:
    """What is in force. Paths are absolute or relative to the current directory."""

    ignore: tuple[str, ...] = ()  # causes that are counted, but not reported
    min_share: float = LEAST_SHARE  # a problem that costs less of the training is not reported
    runs: str = ".unslow"  # the folder of recorded runs
    commands: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    file: Path | None = None
    lines: Mapping[str, int] = field(default_factory=dict)  # of each key, in `file`

    def origin(self, key: str) -> str:
        """`pyproject.toml:12`, or `default`."""
        if self.file is None or key not in self.lines:
            return "default"
        return f"{self.file.name}:{self.lines[key]}"


def load(folder: Path, known: Known) -> Settings:
    """The settings for a folder: of the nearest file in it or above it."""
    file = _nearest(folder)
    if file is None:
        return Settings()
    text = file.read_text(encoding="utf-8", errors="replace")
    return _Reader(file, key_lines(text, _prefix(file)), known).settings(_table(file, text))


def _nearest(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        own, project = place / OWN_FILE, place / PROJECT_FILE
        if own.is_file():
            return own
        if project.is_file() and _table(project, project.read_text("utf-8", "replace")):
            return project
    return None


def _prefix(file: Path) -> str:
    return "tool.unslow." if file.name == PROJECT_FILE else ""


def _table(file: Path, text: str) -> JsonObject:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UnslowError(
            f"cannot read {file}", f"it is not valid TOML: {problem}", "Correct it.", "bad-settings"
        ) from None
    table = data.get("tool", {}).get("unslow", {}) if file.name == PROJECT_FILE else data
    return dict(table)


_HEADER = re.compile(r"\s*\[([\w.\-\" ]+)\]")
_KEY = re.compile(r"\s*([\w.\-\"]+)\s*=")


def key_lines(text: str, prefix: str) -> dict[str, int]:
    """The line of each key below a prefix; tomllib itself does not tell lines."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = f"{header[1].strip()}."
        elif key:
            found.setdefault(f"{table}{key[1]}".replace('"', ""), number)
    own = [(key, line) for key, line in found.items() if key.startswith(prefix)]
    return {key[len(prefix) :].replace("-", "_"): line for key, line in own}


@dataclass(frozen=True)
class _Reader:
    """Checks every key and value; a wrong one is an error that names its line."""

    file: Path
    lines: Mapping[str, int]
    known: Known

    def settings(self, table: Mapping[str, object]) -> Settings:
        names = (*OWN_KEYS, *self.known.commands)
        given = _underscored(table)
        for key in given:
            self._known(key, key, names, "setting")
        commands = [key for key in given if key not in OWN_KEYS]
        return Settings(
            ignore=self._causes(given.get("ignore", [])),
            min_share=self._share(given.get("min_share", LEAST_SHARE)),
            runs=self._folder(given.get("runs", "")),
            commands={name: self._options(name, given[name]) for name in commands},
            file=self.file,
            lines=self.lines,
        )

    def _known(self, key: str, name: str, known: Collection[str], what: str) -> None:
        if name not in known:
            self._wrong(key, f"there is no {what} {name}", suggestion(name, known))

    def _wrong(self, key: str, why: str, hint: str = "") -> NoReturn:
        where = f"{self.file}:{self.lines[key]}" if key in self.lines else str(self.file)
        raise UnslowError(
            f"wrong setting in {where}", why, hint or "See docs/settings.md.", "bad-settings"
        )

    def _causes(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            self._wrong("ignore", "ignore must be a list of causes")
        names = tuple(map(str, value))
        for name in names:
            self._known("ignore", name, self.known.causes(), "cause")
        return names

    def _share(self, value: object) -> float:
        if not isinstance(value, int | float) or not LEAST_SHARE <= value <= 1:
            self._wrong("min_share", f"min_share must be between {LEAST_SHARE} and 1")
        return float(value)

    def _folder(self, value: object) -> str:
        if not isinstance(value, str):
            self._wrong("runs", "runs must be a path")
        return str(self.file.parent / str(value)) if value else Settings.runs

    def _options(self, command: str, value: object) -> JsonObject:
        if not isinstance(value, dict):
            self._wrong(command, f"{command} must be a table of its options")
        options = _underscored(value)
        known = self.known.options(command)
        for name in options:
            self._known(f"{command}.{name}", name, known, f"option of {command}:")
        return options


def _underscored(table: Mapping[str, object]) -> JsonObject:
    """Keys may be written with dashes."""
    return {str(key).replace("-", "_"): value for key, value in table.items()}
