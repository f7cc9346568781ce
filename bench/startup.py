"""What recording adds before the first line of a script and while TensorFlow is imported.

A whole start takes seconds and differs by more from one process to the next than recording adds. So the way to the
script's first line is measured with an empty script, and the arming of the probes by itself.

python bench/startup.py [--pairs 15]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.results import difference, keep, median, run  # noqa: E402

EMPTY = "import os, time, pathlib; pathlib.Path(os.environ['BENCH_OUT']).write_text(str(time.monotonic()))\n"
IMPORTS = 3  # processes that import TensorFlow


def entered(place: Path, recorded: bool) -> float:
    """Seconds from the start of the command to the first line of an empty script."""
    script, out = place / "empty.py", place / "out"
    script.write_text(EMPTY)
    words = ["-m", "unslow", "run", "-q", "--out", tempfile.mkdtemp(dir=place)] if recorded else []
    began = time.monotonic()
    done = run([sys.executable, *words, str(script)], place, BENCH_OUT=str(out))
    if done.code:
        raise SystemExit(done.output)
    return float(out.read_text()) - began


def armed() -> dict[str, float]:
    """Seconds that the import of TensorFlow spends in our finder and in arming the probes."""
    from unslow.record.engine.arm import Arming
    from unslow.record.engine.start import Recording

    spent = {"find_spec": 0.0, "open": 0.0}

    def clocked(name: str) -> None:
        original = getattr(Arming, name)

        def call(*args: Any) -> Any:
            began = time.perf_counter()
            try:
                return original(*args)
            finally:
                spent[name] += time.perf_counter() - began

        setattr(Arming, name, call)

    # Finding a module is the import's own work where it is one of those that we watch: only the others' is ours.
    clocked("open")
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(folder)
        recording.start()
        finder = sys.meta_path[0].find_spec
        began = time.perf_counter()
        __import__("tensorflow")
        imported = time.perf_counter() - began
        names = list(sys.modules)
        began = time.perf_counter()
        for name in names:
            finder(f"{name}.", None, None)
        spent["find_spec"] = time.perf_counter() - began
        recording.end()
    return {**spent, "imported": imported}


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--pairs", type=int, default=15)
    options.add_argument(
        "--armed", action="store_true", help="import TensorFlow here, and print what arming took"
    )
    options.add_argument("--dry", action="store_true", help="print, and keep nothing")
    chosen = options.parse_args()
    if chosen.armed:
        print("\n" + json.dumps(armed()))
        return
    sides: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        entered(place, True)
        for _ in range(chosen.pairs):
            for recorded in random.sample((True, False), 2):
                sides[recorded].append(entered(place, recorded))
        imports = []
        for _ in range(IMPORTS):
            done = run([sys.executable, __file__, "--armed"], place)
            if done.code:
                raise SystemExit(done.output)
            imports.append(json.loads(done.output.splitlines()[-1]))
    arming = median([each["open"] + each["find_spec"] for each in imports])
    first = difference(sides[True], sides[False])
    print(f"to the first line +{first[0] * 1e3:.0f} ms, arming +{arming * 1e3:.0f} ms")
    if not chosen.dry:
        keep(
            "startup",
            {
                "pairs": chosen.pairs,
                "bare": median(sides[False]),
                "first_line": first,
                "arming": arming,
                "added": [None if part is None else part + arming for part in first],
                "import": median([each["imported"] for each in imports]),
            },
        )


if __name__ == "__main__":
    main()
