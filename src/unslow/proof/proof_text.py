"""A proof in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unslow.model import Growth, Proof, Quality
from unslow.report import words


def sentences(proof: Proof) -> Iterator[str]:
    before, after = (words.seconds(float(np.median(side))) for side in (proof.before, proof.after))
    speed = f"{words.speed(proof.speedup)} ({words.interval(proof.low, proof.high)})"
    runs = f"{len(proof.before)} + {len(proof.after)} runs"
    verdict = proof.verdict.value.upper().replace(" ", "_")
    yield f"{verdict}: {before} → {after} {proof.unit}, {speed} over {runs}"
    if proof.peak:
        yield f"peak memory {words.size(proof.peak.before)} → {words.size(proof.peak.after)}"
    if proof.growth:
        yield _grown(proof.growth)
    yield _weights(proof)
    if proof.quality:
        yield _loss(proof.quality)


def _loss(quality: Quality) -> str:
    judged = "as good as before" if quality.same else "not shown to be as good as before"
    means = f"loss {quality.before:.3g} → {quality.after:.3g} over {quality.seeds} seeds"
    margin = f"off by up to {quality.worst_gap:+.2g}, and the seeds allow ±{quality.margin:.2g}"
    lower = quality.worst_gap < -quality.margin
    hint = "; so much lower a loss may mean that less of the data is seen" if lower else ""
    return f"{judged}: {means} ({margin}){hint}"


def _weights(proof: Proof) -> str:
    if proof.difference is None:
        return "the weights could not be compared"
    if proof.difference == 0:
        return "the weights are identical"
    if proof.difference == float("inf"):
        return "the weights differ in number or shape"
    noise = f"before against itself: {proof.noise or 0:.1e}"
    return f"the weights differ by {proof.difference:.1e} ({noise})"


def _grown(growth: Growth) -> str:
    form = words.seconds if growth.what == "step time" else words.size
    before, after = (form(rate * 1000) for rate in (growth.before, growth.after))
    return f"{growth.what} grew by {before} per 1,000 steps before, and by {after} after"
