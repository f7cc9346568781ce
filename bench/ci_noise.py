"""Simulates pull requests over recorded noise, judged as the GitHub action judges them.

python bench/ci_noise.py --collect   first makes bench/ci_noise_recorded.json of what ci_noise_record.py left
python bench/ci_noise.py             writes bench/ci_noise.json and docs/ci-noise.md (a minute, no TensorFlow)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench.ci_noise_record import TRAININGS, Place  # noqa: E402
from unslow.compare.regression import CHECKPOINTS, Decision, decide  # noqa: E402

RECORDED = ROOT / "bench" / "ci_noise_recorded.json"
RESULTS = ROOT / "bench" / "ci_noise.json"
PAGE = ROOT / "docs" / "ci-noise.md"
PULL_REQUESTS = 1000
LIMIT = 0.02  # the action's default for fail-if
MOST = CHECKPOINTS[-1]  # pairs: the action's default for repeat
SLOWDOWNS = (0.0, 0.03, 0.05, 0.10)
CHOSEN = "mean"  # the figure that `compare --repeat` judges

Floats = npt.NDArray[np.float64]


def _capped(seconds: Floats) -> float:
    """The mean, with no step counted as more than all but one in twenty."""
    return float(np.minimum(seconds, np.quantile(seconds, 0.95, method="lower")).mean())


# What could be compared: one number for the steps of a trial.
FIGURES: Mapping[str, Callable[[Floats], float]] = {
    "mean": lambda seconds: float(seconds.mean()),
    "capped mean": _capped,
    "median": lambda seconds: float(np.median(seconds)),
    "lower quartile": lambda seconds: float(np.quantile(seconds, 0.25)),
    "lower tenth": lambda seconds: float(np.quantile(seconds, 0.10)),
}


def _every_step(seconds: Floats) -> Floats:
    return seconds * 1.05


def _every_20th(seconds: Floats) -> Floats:
    slower = seconds.copy()
    slower[::20] += 0.05 * seconds.sum() / len(seconds[::20])
    return slower


def _longest_tenth(seconds: Floats) -> Floats:
    """Steps that wait for their input are the long ones: these wait longer."""
    longest = seconds >= np.quantile(seconds, 0.9)
    slower = seconds.copy()
    slower[longest] *= 1 + 0.05 * seconds.sum() / seconds[longest].sum()
    return slower


# Ways to be slower by 5% as a whole.
REGRESSIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "every step": _every_step,
    "every 20th step": _every_20th,
    "the longest tenth": _longest_tenth,
}


def collected() -> dict[str, Any]:
    """The recorded pairs as one number for each trial and figure."""
    trainings: dict[str, Any] = {}
    seen: dict[str, list[list[float]]] = {name: [] for name in FIGURES}
    for name, (folder, command) in TRAININGS.items():
        rows = Place(name).rows()
        if not rows:
            continue
        sides = [[np.array(side) for side in row["sides"]] for row in rows]
        trainings[name] = {
            "program": f"{folder.rstrip('/')}/{command}",
            "steps": len(sides[0][0]),
            "load": [round(row["load"], 1) for row in rows],
            "pairs": {
                figure: [[float(f"{of(side):.6g}") for side in pair] for pair in sides]
                for figure, of in FIGURES.items()
            },
        }
        for figure, of in FIGURES.items():
            seen[figure].append(
                [
                    float(np.mean([of(change(pair[0])) / of(pair[0]) for pair in sides]))
                    for change in REGRESSIONS.values()
                ]
            )
    shown = {
        figure: dict(zip(REGRESSIONS, np.mean(rows, axis=0).round(4).tolist(), strict=True))
        for figure, rows in seen.items()
    }
    return {"trainings": trainings, "shown": shown}


def recorded_noise(recorded: Mapping[str, Any], figure: str = CHOSEN) -> dict[str, Floats]:
    """For each training how far both sides of a pair lay apart, in logarithms: all of it is noise."""
    noise = {}
    for name, training in recorded["trainings"].items():
        pairs = np.array(training["pairs"][figure])
        noise[name] = np.log(pairs[:, 1] / pairs[:, 0])
    return noise


def spread(gaps: Floats) -> float:
    return float(np.sqrt(np.mean(gaps**2)))


def pull_request(gaps: Floats, slowdown: float, rng: np.random.Generator) -> tuple[Decision, int]:
    """Pairs with the noise of one training, until the decision; which side is the base is chance."""
    after = np.zeros(0)
    decision = Decision.OPEN
    for look in CHECKPOINTS:
        more = look - len(after)
        noise = rng.choice((-1.0, 1.0), more) * rng.choice(gaps, more)
        after = np.concatenate([after, np.exp(np.log1p(slowdown) + noise)])
        decision = decide([1.0] * look, after.tolist(), LIMIT)
        if decision is not Decision.OPEN:
            break
    return decision, len(after)


def simulate(noise: Sequence[Floats], slowdown: float, seed: int) -> dict[str, Any]:
    """Pull requests, on the recorded trainings in turn."""
    rng = np.random.default_rng(seed)
    ends = [
        pull_request(noise[number % len(noise)], slowdown, rng) for number in range(PULL_REQUESTS)
    ]
    return {
        "commented": sum(decision is Decision.REGRESSED for decision, _ in ends),
        "open": sum(decision is Decision.OPEN for decision, _ in ends),
        "pairs": sum(pairs for _, pairs in ends) / PULL_REQUESTS,
    }


def _rows(noise: Sequence[Floats]) -> dict[str, Any]:
    rows = {f"{slow:.0%}": simulate(noise, slow, seed) for seed, slow in enumerate(SLOWDOWNS)}
    return {"noise": float(np.mean([spread(gaps) for gaps in noise])), "slower by": rows}


def measured(recorded: Mapping[str, Any]) -> dict[str, Any]:
    noise = recorded_noise(recorded)
    found = {"all": _rows(list(noise.values()))}
    found.update({name: _rows([gaps]) for name, gaps in noise.items()})
    return {
        "pull_requests": PULL_REQUESTS,
        "limit": LIMIT,
        "most_pairs": MOST,
        "figures": {
            figure: float(np.mean([spread(g) for g in recorded_noise(recorded, figure).values()]))
            for figure in FIGURES
        },
        "trainings": found,
    }


def page(results: Mapping[str, Any], recorded: Mapping[str, Any]) -> str:
    trainings = recorded["trainings"].values()
    loads = np.concatenate([training["load"] for training in trainings])
    pairs = [len(training["load"]) for training in trainings]
    lines = [
        *_HEAD,
        f"`unslow compare --repeat` runs them: {len(pairs)} trainings of different styles, {min(pairs)} to {max(pairs)} pairs",
        f"each, {2 * sum(pairs)} trials. The machine had two cores and other work to do all the time: load averages of",
        f"{loads.min():.0f} to {loads.max():.0f}, {np.median(loads):.0f} as a rule. A runner of one's own is quieter.",
        "",
        *_figures(results, recorded),
        "",
        *_decisions(results),
    ]
    return "\n".join(lines) + "\n"


_HEAD = (
    "<!-- Generated by `python bench/ci_noise.py`; edit that. -->",
    "",
    "# How often CI is right",
    "",
    "A check that fails for nothing is soon ignored. So the decision of the",
    "[GitHub action and the GitLab template](questions/in-ci.md) was tried on simulated pull requests with recorded",
    "noise (`bench/ci_noise_record.py`, `bench/ci_noise_recorded.json`).",
    "",
    "## The noise",
    "",
    "Trainings were run against themselves, as",
)


def _figures(results: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str]:
    lines = [
        "| figure of a trial | noise of a pair | shows 5% in every step | in every 20th step | in the longest tenth |",
        "|---|---:|---:|---:|---:|",
    ]
    for figure, noise in results["figures"].items():
        shown = " | ".join(f"{share - 1:.1%}" for share in recorded["shown"][figure].values())
        lines.append(f"| {figure} | {noise:.1%} | {shown} |")
    return [*lines, "", *_ON_FIGURES]


_ON_FIGURES = (
    "*Noise* is the typical difference between both sides of a pair, which are the same program. Only the mean shows every",
    "regression in full, and no other figure is so much quieter that it would be worth being blind: the mean is compared.",
    "",
    "What makes it quiet enough are turns: both processes of a pair live at the same time, and each runs for a tenth of a",
    "second while the other one is halted, so both meet the same machine. Where that is not possible (a GPU, little memory,",
    "Windows), trials follow each other. Such pairs of four of these trainings differed by 8% to 16% on this machine, which",
    "would take hundreds of pairs to tell 5%. Turns have a price: a wait for a disk or a server goes on while its process is",
    "halted, so 5% more of waits that take 20 to 100 ms each show as 3% to 4.5%. Other waits and all computation show in full.",
)


def _decisions(results: Mapping[str, Any]) -> list[str]:
    count = results["pull_requests"]
    lines = [
        "## The decisions",
        "",
        f"{count:,} simulated pull requests for each cell, with `--fail-if slower={results['limit']:.0%}"
        f" --repeat {results['most_pairs']}`:",
        "",
        "| training | noise of a pair | comments where nothing changed | found: 3% slower | 5% slower | 10% slower"
        " | 5%: cannot be told | pairs, nothing changed | pairs, 5% |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in results["trainings"].items():
        rows = found["slower by"]
        shares = " | ".join(f"{rows[slow]['commented'] / count:.1%}" for slow in rows)
        pairs = f"{rows['0%']['pairs']:.0f} | {rows['5%']['pairs']:.0f}"
        unknown = f"{rows['5%']['open'] / count:.1%}"
        label = f"**{name}**" if name == "all" else name
        lines.append(f"| {label} | {found['noise']:.1%} | {shares} | {unknown} | {pairs} |")
    return [*lines, "", *_ON_DECISIONS]


_ON_DECISIONS = (
    f"The decision looks at {', '.join(map(str, CHECKPOINTS[:-1]))} and {CHECKPOINTS[-1]} pairs and stops as soon as it is clear.",
    "A regression needs a signed-rank test at 0.15% per look and a median slowdown above the limit; the trials also end",
    "once 3% more than the limit can be ruled out (`src/unslow/compare/regression.py`). The rule was chosen on the first 45",
    "pairs (turns of a quarter of a second); those recorded later have turns of a tenth. No training was left out; 13 pairs",
    "of one of them with turns of 0.05 s are not in the table. A simulated pull request draws from the recorded pairs of",
    "its training, which are few: disturbances that are rarer than 1 in 10 may be missing.",
)


def written(results: Mapping[str, Any]) -> str:
    return json.dumps(results, indent=1) + "\n"


def main() -> None:
    if "--collect" in sys.argv[1:]:
        RECORDED.write_text(json.dumps(collected()) + "\n", encoding="utf-8")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    results = measured(recorded)
    RESULTS.write_text(written(results), encoding="utf-8")
    PAGE.write_text(page(results, recorded), encoding="utf-8")
    print(page(results, recorded))


if __name__ == "__main__":
    main()
