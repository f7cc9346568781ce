"""Records every example and packs its run folder into examples/recorded, where the tests read it without TensorFlow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.examples import RECORDED, Example, all_examples  # noqa: E402

_MOST_BYTES = (
    1 << 19
)  # of what the profiler saw of one call: the largest would be most of the recordings


def record(example: Example) -> str:
    """Run it in an empty directory, so that no path of this machine gets into the recording's file names."""
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / example.path.name
        shutil.copy(example.path, script)
        for helper in example.path.parent.glob(f"{example.path.stem}_helpers"):
            shutil.copytree(helper, Path(place) / helper.name)
        folder = Path(place) / "recording"
        subprocess.run(
            [sys.executable, "-m", "unslow", "run", "-q", "--out", str(folder), script.name],
            cwd=place,
            check=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        RECORDED.mkdir(exist_ok=True)
        with zipfile.ZipFile(example.recording, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in sorted(folder.rglob("*")):
                if file.is_file() and not (
                    file.suffix == ".trace" and file.stat().st_size > _MOST_BYTES
                ):
                    packed.write(file, file.relative_to(folder))
    return f"{example.recording.stat().st_size / 1024:.0f} KB"


def judged(example: Example) -> str:
    """What is wrong with a recording: a busy machine can hide a cause, and such a recording is of no use."""
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose

    with tempfile.TemporaryDirectory() as place:
        with zipfile.ZipFile(example.recording) as packed:
            packed.extractall(place)
        findings = diagnose(load(place), with_fixes=False).findings
    faults = [finding for finding in findings if finding.fault]
    strangers = [finding.cause for finding in faults if finding.cause not in example.allowed]
    if strangers:
        return f"{', '.join(strangers)} found too"
    if example.expected and (not findings or findings[0].cause != example.expected):
        return f"{example.expected} is not found first"
    where = findings[0].location if findings else None
    lines = example.lines(str(example.expected))
    if lines and (where is None or where.line not in lines):
        return f"found at {where}, not at line {lines}"
    return ""


def main() -> None:
    chosen = set(sys.argv[1:])
    for example in all_examples():
        if example.possible and (not chosen or example.path.stem in chosen):
            print(f"{example.name}: ", end="", flush=True)
            try:
                size = record(example)
                wrong = judged(example)
            except subprocess.CalledProcessError as problem:
                size, wrong = "", f"it ended with {problem.returncode}"
            if wrong:
                example.recording.unlink(missing_ok=True)
            print(wrong or size, flush=True)


main()
