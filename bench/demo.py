"""The main job on a real slow training: record it, read why it is slow, fix it, and prove the fix."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "demo"
SCRIPT = ROOT / "examples" / "demo" / "train.py"


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def type_in(*words: str) -> None:
    """Show a command as a user would type it, then run it."""
    say(f"$ {shlex.join(words)}")
    done = subprocess.run([sys.executable, "-m", *words], cwd=PLACE, check=False)
    if done.returncode:
        sys.exit(f"the demo stopped: that command ended with {done.returncode}")


def main() -> None:
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    shutil.copy(SCRIPT, PLACE / "train.py")
    say("A training with two faults (demo/train.py). First it runs as it is, recorded:")
    type_in("unslow", "run", "train.py")
    say("Now the fixes: proved together by running before and after in turn, then written:")
    type_in("unslow", "fix", "--prove", "--apply")
    say("And the fixed script, recorded again:")
    type_in("unslow", "run", "--html", "report.html", "train.py")
    say("The report of the last run as a web page: demo/report.html")


main()
