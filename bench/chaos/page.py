"""docs/reliability.md, from the kept results."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from datetime import date

from bench.chaos.kept import Result, Results, minutes_at_once

# Name of the module → title, and what is promised.
PARTS = {
    "transparency": (
        "Awkward programs",
        "Each program runs bare and recorded: the same bytes on stdout and stderr, the same exit "
        "code or signal, the same files with the same content and mode, and the same final weights. "
        "TensorFlow logs as it does by default; addresses, times and thread numbers are masked.",
    ),
    "faults": (
        "Faults",
        "The training is never harmed, what was written stays readable, at most a second is lost, "
        "and the report says how the run ended.",
    ),
    "hostile": (
        "Hostile input",
        "A run folder, a source file, a patch or a settings file from a stranger: a result or a "
        "clear error, never a crash, more than 20 seconds of processor time, or more than 4 GB. Seeds are fixed.",
    ),
    "own_errors": (
        "Our own errors",
        "A part of unslow raises: the training ends as it does alone and prints nothing of it, and "
        "the report has everything but that part, which it names.",
    ),
    "load": (
        "Load",
        "Sizes far beyond an ordinary run: processor time and memory have bounds, and `make test` "
        "checks them at smaller sizes.",
    ),
    "supply": (
        "Supply chain",
        "What is installed, what it talks to, and under which licences.",
    ),
}
# What is there is used; an attack without what it needs is listed as not tried.
_NEEDS = (
    "Some faults need Linux, root and a tool: `mkfs.ext4` (a disk that becomes read-only), `bindfs` "
    "(one that vanishes, or hangs; without it `fsfreeze` makes one hang), `mkfs.btrfs` and `btrfs` "
    "(a quota), a memory cgroup of version 1, `cc` (a clock that steps) and `unshare` (no network). "
    "On Debian and Ubuntu: `apt-get install bindfs btrfs-progs`. Without its tool an attack is "
    "listed as not tried."
)
_OPEN = (
    "- The environment of a recorded process has `UNSLOW_RUN` and a longer `PYTHONPATH`: its "
    "children must be recorded too.",
    "- Our callback of the garbage collector is not in `gc.callbacks`, unless somebody else has one "
    "there before TensorFlow is imported, or the recording began by `unslow attach`.",
    "- Of more than 8,192 facts of one kind in a process, some are read, with the last of each key: "
    "sums and counts stay exact, and the report says so.",
    "- `__code__`, `__defaults__`, `inspect.getfullargspec` and the frames on the stack of a TensorFlow "
    "function that we wrap are those of our wrapper; its name, signature, source, documentation and "
    "annotations, tracebacks and the lines of warnings are the original's.",
    "- `python -X importtime` and `-v` list our modules too.",
    "- `faulthandler` lists every thread of a process, our watcher among them.",
    "- While TensorFlow's profiler is opened or closed, which takes milliseconds a few times in a "
    "run, stderr goes through a buffer. What a child process writes that another thread starts at "
    "this moment, to a stderr that it inherits, is lost.",
    "- `unslow prove`, `whatif` and `compare --repeat` run the recorded command again: give them "
    "only recordings that you trust as you would trust the script. Everything else only reads.",
    "- A recording holds copies of the source files that ran, their paths, the command line and "
    "some environment variables (those of TensorFlow, Keras, XLA, CUDA and the threads). "
    "`unslow run --no-sources` leaves the copies out; `.unslow/.gitignore` keeps recordings out "
    "of version control.",
)


def page(results: Mapping[str, Results]) -> str:
    rows = [row for each in results.values() for row in each.rows.values()]
    tried = sum(row.tries for row in rows if not row.skipped)
    broke = sum(len(row.broke) for row in rows)
    lines = [
        "# Reliability",
        "",
        "Written by `make chaos`, which attacks unslow in the ways below. Do not edit.",
        "",
        f"Last written on {date.today().isoformat()}: **{tried:,} tries, {broke} broke**.",
        "",
        "| part | attacks | tries | broke | not tried here | processor minutes |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [_summary(PARTS[part][0], each) for part, each in results.items()]
    lines += [
        "",
        f"{_how_long()}What held is kept: a second `make chaos` tries what broke or is new.",
        "",
        _NEEDS,
    ]
    for part, each in results.items():
        lines += ["", *_part(part, each)]
    lines += ["", "## Known limits", "", *_OPEN]
    return "\n".join(lines) + "\n"


def _how_long() -> str:
    minutes = minutes_at_once()
    where = "Two attacks run at a time, each with one core. "
    return where + (f"All of it took {minutes:.0f} minutes in one call. " if minutes else "")


def _summary(title: str, results: Results) -> str:
    rows = list(results.rows.values())
    tried = [row for row in rows if not row.skipped]
    tries, broke = sum(row.tries for row in tried), sum(len(row.broke) for row in rows)
    counts = f"{len(tried)} | {tries:,} | {broke} | {len(rows) - len(tried)}"
    return f"| {title} | {counts} | {sum(row.processor for row in tried) / 60:.0f} |"


def _part(part: str, results: Results) -> Iterator[str]:
    title, promise = PARTS[part]
    yield from (f"## {title}", "", promise, "")
    if not results.rows:
        yield "Not run yet."
        return
    if part == "transparency":
        yield from _programs(results)
        return
    yield from ("| attack | tries | lost | broke | note |", "|---|---:|---|---|---|")
    for name, row in sorted(results.rows.items()):
        note = f"not tried: {row.skipped}" if row.skipped else row.note
        tries = 0 if row.skipped else row.tries
        yield f"| {_cell(name)} | {tries:,} | {_cell(row.lost)} | {_broke(row)} | {_cell(note)} |"
    attacks = importlib.import_module(f"bench.chaos.{part}").attacks()
    missing = [attack.name for attack in attacks if attack.name not in results.rows]
    if missing:
        yield from ("", f"Not run yet: {_cell('; '.join(missing))}.")


def _programs(results: Results) -> Iterator[str]:
    """Those that held are a list; those that did not have a line each."""
    held = sorted(name for name, row in results.rows.items() if not row.broke and not row.skipped)
    yield f"{len(held)} programs held: " + ", ".join(f"`{name}`" for name in held) + "."
    for name, row in sorted(results.rows.items()):
        if row.broke or row.skipped:
            yield from ("", f"- `{name}`: {_cell(row.skipped or '; '.join(row.broke))}")


def _broke(row: Result) -> str:
    return _cell("; ".join(row.broke)) or "0"


def _cell(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{char}" if char in "|<>*_`[]" else char for char in flat)
