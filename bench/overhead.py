"""What recording costs: the same loops bare, under unslow and under its peers, in fresh processes, in turn.

Only all of the styles and tools together are kept; some of them are printed.

python bench/overhead.py [--pairs N] [--styles a,b] [--tools unslow,memray] [--apart] [--minutes 45]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench import peers  # noqa: E402
from bench.loops import STYLES  # noqa: E402
from bench.peers import BARE, PEERS, Peer  # noqa: E402
from bench.results import beside, difference, folder_bytes, keep, median, ratio, run  # noqa: E402

SCRIPT = ROOT / "bench" / "loops.py"
HUNG = 6.0  # times as long as the bare run, and a process is said to hang; but never within
PATIENCE = 120.0  # seconds: some need half a minute to import TensorFlow
MOST_HUNG = 2  # a tool that has hung so often is not run again: each time takes a minute
SLOWEST_BARE = 60.0

Seen = dict[str, Any]


def once(peer: Peer, styles: Sequence[str], limit: float) -> Seen:
    """One process: what its loops took, and how it ended."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        out = place.parent / f"{place.name}.jsonl"
        began = time.monotonic()
        done = run(
            peer.command([str(SCRIPT), *styles]),
            place,
            limit,
            **peer.env,
            BENCH_OUT=str(out),
            BENCH_BEGAN=str(began),
        )
        lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        out.unlink(missing_ok=True)
        seen: Seen = {"seconds": done.seconds, "cpu": done.cpu, "bytes": folder_bytes(place)}
    seen["styles"] = {line.pop("style"): line for line in lines if "style" in line}
    for line in lines:
        seen |= {key: line[key] for key in ("entered", "imported", "peak", "done") if key in line}
    if done.code != 0 or "done" not in seen:
        seen |= {"failed": _failure(done.code, done.output, limit), "hung": done.code is None}
    return seen


def _failure(code: int | None, output: str, limit: float) -> str:
    if code is None:
        return f"hung: stopped after {limit:.0f} s"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{how}: {lines[-1][:160] if lines else 'no message'}"


def rounds(
    tools: Sequence[Peer], groups: Sequence[Sequence[str]], pairs: int, until: float
) -> dict[str, list[Seen]]:
    """Every tool once per round and group of styles, in random order; rounds end when the time is up."""
    chance = random.Random(0)
    seen: dict[str, list[Seen]] = {peer.name: [] for peer in (BARE, *tools)}
    # The first run reads everything from the disk: it only says how long a run takes.
    usual = [once(BARE, group, HUNG * SLOWEST_BARE) for group in groups]
    for number in range(pairs):
        if number and time.monotonic() > until:
            print(f"the time is up after {number} of {pairs} rounds", flush=True)
            break
        for group, first in zip(groups, usual, strict=True):
            for peer in chance.sample([BARE, *tools], len(tools) + 1):
                if sum(each.get("hung", False) for each in seen[peer.name]) >= MOST_HUNG:
                    continue
                found = once(peer, group, max(PATIENCE, HUNG * first["seconds"]))
                seen[peer.name].append(found)
                said = f"{found['seconds']:6.1f} s  {found.get('failed', '')}"
                print(f"round {number + 1}  {peer.name:<13} {said}", flush=True)
                if peer is BARE and "failed" in found:
                    raise SystemExit("the bare run failed")
    return seen


def judged(seen: list[Seen], bare: list[Seen], styles: Sequence[str]) -> Seen:
    """The row of one tool."""
    row: Seen = {
        "runs": len(seen),
        "failed": [each["failed"] for each in seen if "failed" in each],
        "styles": {},
    }
    for style in styles:
        steps = [each["styles"].get(style, {}).get("mean") for each in seen]
        both = beside(steps, [each["styles"].get(style, {}).get("mean") for each in bare])
        if both[0]:
            row["styles"][style] = {
                "runs": len(both[0]),
                "step": median(both[0]),
                "ratio": ratio(*both, paired=True),
                "steps": steps,
            }
    for key in ("entered", "imported", "peak", "seconds"):
        mine, base = ([float(each[key]) for each in sides if key in each] for sides in (seen, bare))
        if mine and base:
            row[key] = {"value": median(mine), "added": difference(mine, base)}
    counts = [sum(each["steps"] for each in one["styles"].values()) for one in seen]
    sizes = [1000 * one["bytes"] / count for one, count in zip(seen, counts, strict=True) if count]
    if sizes:
        row["bytes_per_1000_steps"] = median(sizes)
    return row


def shown(rows: dict[str, Seen], styles: Sequence[str]) -> None:
    for name, row in rows.items():
        parts = [
            f"{style} {row['styles'][style]['ratio'][0]:.2f}×"
            if style in row["styles"]
            else f"{style} –"
            for style in styles
        ]
        print(
            f"{name:<13} {'  '.join(parts)}  {row.get('absent') or '; '.join(sorted(set(row['failed'])))}"
        )


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--pairs", type=int, default=10, help="runs of each tool")
    options.add_argument("--styles", default=",".join(STYLES))
    options.add_argument("--tools", default=",".join(peer.name for peer in PEERS))
    options.add_argument(
        "--apart", action="store_true", help="a process for each style, not one for all of them"
    )
    options.add_argument(
        "--minutes", type=float, default=45.0, help="no round is begun after so long"
    )
    chosen = options.parse_args()
    styles = [name for name in STYLES if name in chosen.styles.split(",")]
    peers.prepare()
    wanted = [peer for peer in PEERS if peer.name in chosen.tools.split(",")]
    absent = {peer.name: peers.install(peer) for peer in wanted}
    usable = [peer for peer in wanted if not absent[peer.name]]
    groups = [[name] for name in styles] if chosen.apart else [styles]
    seen = rounds(usable, groups, chosen.pairs, time.monotonic() + 60 * chosen.minutes)
    rows: dict[str, Seen] = {}
    for peer in (BARE, *wanted):
        if peer.name in seen:
            rows[peer.name] = judged(seen[peer.name], seen["bare"], styles)
        else:
            rows[peer.name] = {"runs": 0, "failed": [], "styles": {}, "absent": absent[peer.name]}
        rows[peer.name] |= {"title": peer.title, "version": peers.version(peer)}
    shown(rows, styles)
    if len(styles) == len(STYLES) and len(wanted) == len(PEERS):
        keep("overhead", {"apart": chosen.apart, "tools": rows})


if __name__ == "__main__":
    main()
