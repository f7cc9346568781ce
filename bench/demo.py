"""The main job on a real slow training: record it, read why it is slow, fix it, and prove the fix."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "demo"
SCRIPT = ROOT / "examples" / "eager_step.py"


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def type_in(*words: str) -> None:
    """Show a command as a user would type it, then run it."""
    say(f"$ {shlex.join(words)}")
    done = subprocess.run([sys.executable, "-m", *words], cwd=PLACE, check=False)
    if done.returncode:
        sys.exit(f"the demo stopped: that command ended with {done.returncode}")


def unmarked(text: str) -> str:
    """The example without the comments that tell the tests what to expect."""
    kept = [
        line
        for line in text.splitlines()
        if not line.startswith(("# expect:", "# also:", "# steps:"))
    ]
    return "\n".join(line.partition("  # <--")[0] for line in kept) + "\n"


def main() -> None:
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    (PLACE / "train.py").write_text(unmarked(SCRIPT.read_text()))
    say(
        "A training that is slower than it should be (demo/train.py). First it runs as it is, recorded:"
    )
    type_in("unslow", "run", "train.py")
    say("Now the fix: proved by running both in turn, then written (about two minutes):")
    type_in("unslow", "fix", "--prove", "--apply")
    say("And the fixed script, recorded again:")
    type_in("unslow", "run", "--html", "report.html", "train.py")
    say("The report of the last run as a web page: demo/report.html")


main()
