"""Whatever happens to a run folder, a report is made or an UnslowError says why not: no crash, no hang."""

from __future__ import annotations

import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unslow.analyse.run.assemble import load
from unslow.cli.show import print_report, text_of
from unslow.diagnose import diagnose
from unslow.errors import UnslowError
from unslow.facts.kinds import all_kinds
from unslow.report.view import view_of
from unslow.runfolder.layout import ROW

RECORDED = Path(__file__).parents[2] / "examples" / "recorded"
NAMES = ("healthy-staged_graph", "feed_dict", "gc_pauses", "retracing_method", "thread_settings")
BATCHES, PER_BATCH = 20, 16
STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    1e308,
    float("nan"),
    "",
    "\x1b[31mx",
    "0" * 50,
    [],
    [[1]],
    {},
    {"k": 1},
)
BYTES = (b"\x00", b"\xff", b"9", b"-", b"[", b"}", b'"', b"\n", b"e")


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = []
    for name in NAMES:
        folder = tmp_path_factory.mktemp(name)
        zipfile.ZipFile(RECORDED / f"{name}.zip").extractall(folder)
        folders.append(folder)
    return folders


def one_file(folder: Path, suffix: str) -> Path:
    return next(path for path in sorted(folder.rglob(f"*{suffix}")))


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every value of a decoded line, with what holds it."""
    found: list[tuple[Any, Any]] = []
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        found += [(value, key), *places(inner)]
    return found


def change_a_value(folder: Path, chance: random.Random) -> None:
    file = one_file(folder, ".events")
    lines = file.read_bytes().splitlines()
    known = all_kinds()
    declared = [at for at, line in enumerate(lines) if json.loads(line)["k"] in known]
    for _ in range(chance.choice((1, 1, 5, 40))):
        number = chance.choice(declared)
        line = json.loads(lines[number])
        holder, key = chance.choice(places(line))
        holder[key] = chance.choice(STRANGE)
        lines[number] = json.dumps(line).encode()
    file.write_bytes(b"\n".join(lines) + b"\n")


def change_bytes(folder: Path, chance: random.Random) -> None:
    file = one_file(folder, chance.choice((".events", ".steps", "run.json")))
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 3, 30))):
        at = chance.randrange(len(data))
        data[at : at + 1] = chance.choice(BYTES)
    file.write_bytes(bytes(data))


def change_rows(folder: Path, chance: random.Random) -> None:
    file = one_file(folder, ".steps")
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 5, 50))):
        at = chance.randrange(len(data) // ROW.size) * ROW.size + 8 * chance.randrange(9)
        data[at : at + 8] = chance.randbytes(8)
    file.write_bytes(bytes(data))


def cut_off(folder: Path, chance: random.Random) -> None:
    file = one_file(folder, chance.choice((".events", ".steps")))
    data = file.read_bytes()
    file.write_bytes(data[: chance.randrange(len(data))])


def change_the_header(folder: Path, chance: random.Random) -> None:
    file = one_file(folder, "run.json")
    header = json.loads(file.read_text())
    header[chance.choice(sorted(header))] = chance.choice(STRANGE)
    file.write_text(json.dumps(header))


CHANGES: tuple[Callable[[Path, random.Random], None], ...] = (
    change_a_value,
    change_a_value,
    change_bytes,
    change_rows,
    cut_off,
    change_the_header,
)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_damaged_folder_never_breaks_a_report(
    batch: int, recordings: list[Path], tmp_path: Path
) -> None:
    for number in range(PER_BATCH):
        chance = random.Random(batch * PER_BATCH + number)
        folder = tmp_path / str(number)
        shutil.copytree(chance.choice(recordings), folder)
        change = chance.choice(CHANGES)
        change(folder, chance)
        try:
            run = load(str(folder))
        except UnslowError:
            continue
        view = view_of(diagnose(run, with_fixes=False))
        text_of(view, "json")
        print_report(view, io.StringIO())


def test_a_damaged_line_is_left_out_and_noted(recordings: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(recordings[0], folder)
    whole = load(str(folder))
    file = one_file(folder, ".events")
    lines = file.read_bytes().splitlines()
    tick = next(at for at, line in enumerate(lines) if b'"k": "tick"' in line)
    lines[tick] = json.dumps({**json.loads(lines[tick]), "rss": "much"}).encode()
    file.write_bytes(b"\n".join(lines) + b"\n")
    run = load(str(folder))
    assert len(run.processes[0].ticks.time) == len(whole.processes[0].ticks.time) - 1
    assert any("1 damaged line " in note for note in run.notes)
    assert not any("damaged" in note for note in whole.notes)


def test_facts_of_an_unknown_kind_are_skipped_and_counted(
    recordings: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(recordings[0], folder)
    file = one_file(folder, ".events")
    text = file.read_bytes()
    file.write_bytes(text + b'{"k": "novel", "t": 1}\n{"k": "novel", "t": 2, "stack": [7]}\n')
    run = load(str(folder))
    assert run.table.unknown == {"novel": 2}
    assert not run.notes


def test_a_damaged_row_is_left_out_and_noted(recordings: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(recordings[1], folder)
    steps = load(str(folder)).steps
    file = one_file(folder, ".steps")
    data = bytearray(file.read_bytes())
    data[-ROW.size + 32 : -ROW.size + 36] = b"\xff\xff\xff\xff"  # updates in the last row
    file.write_bytes(bytes(data))
    run = load(str(folder))
    assert run.steps == steps - 1
    assert any("1 damaged row " in note for note in run.notes)
