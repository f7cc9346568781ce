"""Everything that reads what others wrote: how hostile input for it is made, and how it is read."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Protocol

from bench.chaos.damage import (
    PAYLOAD,
    damaged_bytes,
    damaged_folder,
    damaged_rows,
    damaged_value,
    lines,
    recordings,
)
from bench.chaos.kept import ROOT


class Reader(Protocol):
    def make(self, chance: random.Random, scratch: Path) -> Any: ...

    def read(self, given: Any) -> None: ...


class Lines:
    """The codec of facts: a line fits its schema, or is refused."""

    def __init__(self) -> None:
        from unslow.facts.codec import Context, Undecodable, decode
        from unslow.facts.kinds import all_kinds

        all_kinds()
        self._decode, self._refused = decode, Undecodable
        self._context = Context(0, 0, str)

    def make(self, chance: random.Random, scratch: Path) -> Any:
        return damaged_value(chance.choice(lines()), chance)

    def read(self, given: Any) -> None:
        line = json.loads(json.dumps(given))
        if not isinstance(line, dict):
            return
        try:
            self._decode(line, self._context)
        except self._refused:
            return


class StepRows:
    """The log of steps: rows that contradict themselves are left out."""

    def __init__(self) -> None:
        from unslow.runfolder.layout import ROW
        from unslow.runfolder.steplog import parse

        self._parse, self._size = parse, ROW.size
        self._logs = [
            data[: 400 * ROW.size]
            for files in recordings()
            for name, data in files.items()
            if name.endswith(".steps")
        ]

    def make(self, chance: random.Random, scratch: Path) -> bytes:
        data = chance.choice(self._logs)
        damage = chance.choice((damaged_rows, damaged_bytes))
        return damage(data, chance)

    def read(self, given: bytes) -> None:
        parsed = self._parse(given[: len(given) // self._size * self._size])
        assert int(parsed.rows["count"].astype("int64").sum()) >= 0
        assert (parsed.rows["total"] >= 0).all()


class Profiles:
    """Profiles of TensorFlow's profiler, which are protocol buffers."""

    def __init__(self) -> None:
        from unslow.analyse.graphs.call_profile import call_profile
        from unslow.analyse.host.step_profile import step_profile
        from unslow.analyse.host.xplane import read

        self._readers: tuple[Callable[[bytes], Any], ...] = (
            lambda data: step_profile(read(data)),
            call_profile,
        )
        self._kept = [
            data
            for files in recordings()
            for name, data in files.items()
            if not name.endswith((".steps", ".events", ".json", ".py", ".txt"))
        ]

    def make(self, chance: random.Random, scratch: Path) -> bytes:
        return damaged_bytes(chance.choice(self._kept)[:60_000], chance)

    def read(self, given: bytes) -> None:
        for read in self._readers:
            try:
                read(given)
            except ValueError:
                continue


class Headers:
    """run.json."""

    def make(self, chance: random.Random, scratch: Path) -> Path:
        from unslow.runfolder.layout import HEADER

        data = chance.choice(recordings())[HEADER]
        if chance.random() < 0.5:
            data = damaged_bytes(data, chance)
        else:
            data = json.dumps(damaged_value(json.loads(data), chance)).encode()
        (scratch / HEADER).write_bytes(data)
        return scratch

    def read(self, given: Path) -> None:
        from unslow.cli.runs import _line, _row
        from unslow.report.words import plain

        line = plain(_line(_row(given)))
        assert not _controls(line) and "\n" not in line, f"control characters in {line!r}"


class Reports:
    """A damaged run folder, in every format."""

    def make(self, chance: random.Random, scratch: Path) -> Path:
        return damaged_folder(chance, scratch)

    def read(self, given: Path) -> None:
        from unslow.cli.show import FORMATS, print_report, report_on, text_of

        _, view = report_on(str(given))
        for form in FORMATS:
            text_of(view, form)
        print_report(view, io.StringIO())


class Payloads:
    """A run folder whose every name is an attack: nothing of it acts in any output."""

    def make(self, chance: random.Random, scratch: Path) -> Path:
        folder = damaged_folder(random.Random(chance.random()), scratch)
        for path in folder.glob("*.events"):
            every = [json.loads(raw) for raw in _valid(path.read_bytes())]
            changed = [_with_payload(line, chance) for line in every]
            path.write_text("".join(json.dumps(line) + "\n" for line in changed))
        header = folder / "run.json"
        try:
            document = json.loads(header.read_bytes())
        except ValueError:
            return folder
        if isinstance(document, dict):
            hostile = {"command": ["python", PAYLOAD], "ended": PAYLOAD, "host": PAYLOAD}
            header.write_text(json.dumps({**document, **hostile}))
        return folder

    def read(self, given: Path) -> None:
        from unslow.cli.show import FORMATS, print_report, report_on, text_of

        _, view = report_on(str(given))
        for form in FORMATS:
            _must_be_harmless(form, text_of(view, form))
        stream = io.StringIO()
        print_report(view, stream)
        _must_be_harmless("terminal", stream.getvalue())


class Live:
    """The live view of a folder that grows by damaged pieces."""

    def make(self, chance: random.Random, scratch: Path) -> Path:
        return damaged_folder(chance, scratch)

    def read(self, given: Path) -> None:
        from unslow.live.watch import Watch
        from unslow.report.live import frame, painted

        watch = Watch(str(given))
        view = watch.poll()
        json.dumps(view)
        painted(frame(view, 80, 40), 80)
        for path in (*given.glob("*.events"), *given.glob("*.steps")):
            with path.open("ab") as file:
                file.write(path.read_bytes()[-500:-3])
        painted(frame(watch.poll(), 40, 10), 40)


class Exports:
    """A damaged run folder for other tools."""

    def make(self, chance: random.Random, scratch: Path) -> Path:
        return damaged_folder(chance, scratch)

    def read(self, given: Path) -> None:
        from unslow.cli.show import diagnosis_of
        from unslow.export import export

        diagnosis = diagnosis_of(str(given), with_fixes=False)
        for form in ("tensorboard", "perfetto", "parquet", "opentelemetry"):
            export(diagnosis, form, given / f"exported-{form}")


class Comparisons:
    """A recording beside a damaged copy of another."""

    def make(self, chance: random.Random, scratch: Path) -> tuple[Path, Path]:
        first = damaged_folder(chance, scratch)
        second = first.with_name("second")
        if second.exists():
            import shutil

            shutil.rmtree(second)
        first.rename(second)
        return damaged_folder(chance, scratch), second

    def read(self, given: tuple[Path, Path]) -> None:
        from unslow.cli.show import diagnosis_of
        from unslow.compare import compare
        from unslow.compare.view import view_of
        from unslow.report import comparison, json_report

        first, second = (diagnosis_of(str(folder), with_fixes=False) for folder in given)
        found = compare(first, second)
        list(found.failures(0.05))
        view = view_of(found, first, second, None)
        for write in (json_report.written, comparison.as_markdown, comparison.as_html):
            write(view)
        comparison.renderable(view)


class Sources:
    """`check` on source that nobody would write."""

    def __init__(self) -> None:
        from unslow.cause import load
        from unslow.check import check_text
        from unslow.check.formats import FORMATS

        self._check, self._causes, self._formats = check_text, load()[0], FORMATS
        self._texts = [path.read_text(encoding="utf-8") for path in _scripts()]

    def make(self, chance: random.Random, scratch: Path) -> str:
        return damaged_source(chance.choice(self._texts), chance)

    def read(self, given: str) -> None:
        report = self._check("train.py", given, self._causes)
        failed = [item for item in report.not_judged if "Error" in item.reason]
        assert not failed, f"{failed[0].cause}: {failed[0].reason}"
        for write in self._formats.values():
            write([report], self._causes)


class Fixes:
    """`fix` on source that was damaged inside of a run folder."""

    def make(self, chance: random.Random, scratch: Path) -> Path:
        folder = damaged_folder(random.Random(0), scratch)
        files = chance.choice(recordings())
        for path in sorted(folder.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        for name, data in files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if name.startswith("sources/"):
                text = damaged_source(data.decode("utf-8", "replace"), chance)
                data = text.encode("utf-8", "surrogatepass")
            place.write_bytes(data)
        return folder

    def read(self, given: Path) -> None:
        from unslow.cli.fix import _diff
        from unslow.cli.show import diagnosis_of
        from unslow.model import Fix
        from unslow.planning import Composition

        diagnosis = diagnosis_of(str(given))
        composition = Composition(diagnosis)
        for step in composition.steps():
            if isinstance(step.fix, Fix):
                composition.accept(step)
        _diff(diagnosis, composition.texts)


class Patches:
    """Patches given to `prove`, which may name any path."""

    _SOURCES: ClassVar = {
        "train.py": "a = 1\nb = 2\nc = 3\n",
        "package/data.py": "x = 1\n",
        "../out.py": "y",
    }

    def make(self, chance: random.Random, scratch: Path) -> Path:
        name = chance.choice(
            ("train.py", "../../out.py", "/tmp/unslow-owned.py", "package/data.py", PAYLOAD)
        )
        text = f"--- a/{name}\n+++ b/{name}\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 4\n c = 3\n"
        patch = scratch / "given.patch"
        patch.write_bytes(damaged_bytes(text.encode(), chance))
        return patch

    def read(self, given: Path) -> None:
        from unslow.cli.prove import patched

        before = set(given.parent.iterdir())
        patched(self._SOURCES, given)
        assert set(given.parent.iterdir()) == before
        assert not Path("/tmp/unslow-owned.py").exists()
        assert not (given.parent.parent / "out.py").exists()


class Settings:
    """unslow.toml of a repository that was cloned from somewhere."""

    def make(self, chance: random.Random, scratch: Path) -> Path:
        text = b'runs = "x"\nignore = ["retracing"]\n[run]\nlive = true\n[why]\nform = "json"\n'
        (scratch / "unslow.toml").write_bytes(damaged_bytes(text, chance))
        return scratch

    def read(self, given: Path) -> None:
        from unslow.cli import _COMMANDS, options_of
        from unslow.settings import Known, load

        load(given, Known(_COMMANDS, options_of, lambda: ["retracing"]))


READERS: dict[str, Callable[[], Reader]] = {
    "lines of facts": Lines,
    "rows of steps": StepRows,
    "profiles": Profiles,
    "headers and the list of runs": Headers,
    "reports in five formats": Reports,
    "reports full of payloads": Payloads,
    "the live view": Live,
    "four exports": Exports,
    "comparisons": Comparisons,
    "source given to check": Sources,
    "source given to fix": Fixes,
    "patches given to prove": Patches,
    "settings files": Settings,
}

_TOKENS = (
    *("(", ")", "[", "]", ":", "\n", "    ", "\t", "@", "lambda: ", "yield ", "await ", "*"),
    *("for x in y:\n", "def f():\n", "class C:\n", "with a as b:\n", "try:\n", "return\n", "\\\n"),
    *(
        '"""',
        "'",
        "f'{",
        "}",
        "\x00",
        "\ufeff",
        "\r",
        "\x0c",
        "match x:\n",
        "case _:\n",
        "global x\n",
    ),
)


def damaged_source(text: str, chance: random.Random) -> str:
    """Lines moved, repeated, indented or lost; tokens put in; names exchanged."""
    every = text.split("\n")
    for _ in range(chance.choice((1, 2, 5))):
        at, other = chance.randrange(len(every)), chance.randrange(len(every))
        match chance.randrange(6):
            case 0:
                every[at], every[other] = every[other], every[at]
            case 1:
                every.insert(at, every[other])
            case 2:
                every[at] = "    " + every[at]
            case 3 if len(every) > 2:
                del every[at]
            case 4:
                column = chance.randrange(len(every[at]) + 1)
                every[at] = every[at][:column] + chance.choice(_TOKENS) + every[at][column:]
            case _:
                names = re.findall(r"[A-Za-z_]\w*", every[at] + " " + every[other])
                if len(names) > 1:
                    every[at] = every[at].replace(names[0], chance.choice(names))
    return "\n".join(every)


def _scripts() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.py")) + sorted((ROOT / "examples").glob("*/*.py"))


def _valid(data: bytes) -> Iterator[bytes]:
    for raw in data.splitlines():
        try:
            if isinstance(json.loads(raw), dict):
                yield raw
        except ValueError:
            continue


def _with_payload(line: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Some of the texts of a line replaced; the kind and the digests stay, so that it is read."""

    def replaced(value: Any) -> Any:
        if isinstance(value, str) and chance.random() < 0.3:
            return PAYLOAD
        if isinstance(value, list):
            return [replaced(each) for each in value]
        if isinstance(value, dict):
            return {name: replaced(each) for name, each in value.items()}
        return value

    kept = ("k", "digest", "phase")
    return {name: value if name in kept else replaced(value) for name, value in line.items()}


# Also what turns the direction of writing around, and halves of characters.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def _controls(text: str) -> bool:
    return _CONTROL.search(text) is not None


def _must_be_harmless(form: str, text: str) -> None:
    assert not _controls(text), f"control characters in {form}"
    if form in ("html", "markdown"):
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)
        shown = text if form == "html" else outside
        assert "<script>alert(1)" not in shown, f"a script in {form}"
        assert form == "html" or not re.search(r"(?<!\\)\]\(javascript:", shown), (
            f"a link in {form}"
        )
    if form in ("json", "sarif"):
        json.loads(text)
