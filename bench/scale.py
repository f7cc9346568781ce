"""How cost grows: recordings of 10³ to 10⁷ steps, and of 1 to 1 000 processes, written and then reported on.

python bench/scale.py [--steps 1000,100000] [--workers 1,10] [--times 3]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.results import folder_bytes, keep, median, run  # noqa: E402

STEPS = "1000,10000,100000,1000000,10000000"
WORKERS = "1,10,100,1000"
WORKER_STEPS = 200  # of each worker, so that a thousand of them fit into a small folder
HELP_TIMES = 10
BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"


def written(place: Path, steps: int, workers: int) -> dict[str, Any]:
    command = [
        sys.executable,
        str(ROOT / "bench" / "synthetic.py"),
        str(place / "run"),
        str(steps),
        str(workers),
    ]
    done = run(command, place, limit=1200)
    if done.code:
        raise SystemExit(done.output)
    return dict(json.loads(done.output.splitlines()[-1]))


def why(place: Path, times: int) -> dict[str, Any]:
    """`unslow why` in fresh processes; the first, which may have to compile its modules, is left out."""
    command = [sys.executable, "-m", "unslow", "why", str(place / "run")]
    terminal = [run(command, place, limit=600) for _ in range(times + 1)][1:]
    page = place / "page.html"
    html = [
        run([*command, "--format", "html", "-o", str(page)], place, limit=600) for _ in range(times)
    ]
    failed = [done for done in terminal + html if done.code]
    if failed:
        raise SystemExit(failed[0].output)
    return {
        "why_seconds": median([done.seconds for done in terminal]),
        "why_peak": max(done.peak for done in terminal),
        "why_cpu": median([done.cpu for done in terminal]),
        "html_seconds": median([done.seconds for done in html]),
        "html_bytes": page.stat().st_size,
        "paint_seconds": painted(page, times),
    }


def painted(page: Path, times: int) -> float | None:
    """Seconds to the first contentful paint in Chromium, where there is one."""
    browser = next((path for path in BROWSERS if Path(path).exists()), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if browser is None:
        return None
    seen = []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=browser, args=["--no-sandbox", "--no-first-run"]
        )
        for _ in range(times):
            tab = opened.new_page(bypass_csp=True)  # else the page forbids waiting by script
            tab.goto(page.as_uri(), wait_until="load")
            tab.wait_for_function(f"({PAINT}) >= 0")
            seen.append(float(tab.evaluate(PAINT)) / 1e3)
            tab.close()
        opened.close()
    return median(seen)


def measured(steps: int, workers: int, times: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        wrote = written(place, steps, workers)
        found = {
            "steps": steps,
            "workers": workers,
            "writer_seconds_per_step": wrote["steps_seconds"] / steps / workers,
            "folder_bytes": folder_bytes(place / "run"),
            "recorder_peak": wrote["peak"] - wrote["resident_before"],
            "recorder_after": wrote["resident_after"] - wrote["resident_before"],
            **why(place, times),
        }
    print(
        f"{steps:>9} steps × {workers:<4} {found['writer_seconds_per_step'] * 1e6:5.1f} µs a step"
        f"  recorder {found['recorder_peak'] / 1e6:5.1f} MB  folder {found['folder_bytes'] / 1e6:6.1f} MB"
        f"  why {found['why_seconds']:6.2f} s {found['why_peak'] / 1e6:4.0f} MB"
        f"  html {found['html_bytes'] / 1e6:5.2f} MB",
        flush=True,
    )
    return found


def helped() -> float:
    """Seconds of `unslow --help`."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "unslow", "--help"]
        return median([run(command, Path(name)).seconds for _ in range(HELP_TIMES + 1)][1:])


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--steps", default=STEPS)
    options.add_argument("--workers", default=WORKERS)
    options.add_argument(
        "--times", type=int, default=3, help="runs of each report, of which the median counts"
    )
    chosen = options.parse_args()
    keep(
        "scale",
        {
            "help_seconds": helped(),
            "worker_steps": WORKER_STEPS,
            "steps": [measured(int(steps), 1, chosen.times) for steps in chosen.steps.split(",")],
            "workers": [
                measured(WORKER_STEPS, int(number), chosen.times)
                for number in chosen.workers.split(",")
            ],
        },
    )


if __name__ == "__main__":
    main()
