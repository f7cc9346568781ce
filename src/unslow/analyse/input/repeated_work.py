"""The finding for work that a pipeline repeats in every pass: what a cache would hold and leave."""

from __future__ import annotations

from unslow.analyse import wording as say
from unslow.analyse.input.cache_plans import CachePlan
from unslow.analyse.input.remedies import Remedy, certainty
from unslow.analyse.input.waits import Wait
from unslow.model import Evidence, Finding, Run


def cache_finding(cause: str, run: Run, wait: Wait, remedy: Remedy) -> Finding:
    plan, stage = remedy.cache, remedy.stage
    assert plan is not None and stage is not None
    place = say.place(run, stage.location or wait.loop.location)
    verb = "decodes the same files" if plan.files else "does the same work"
    return Finding(
        cause=cause,
        title=f"each pass {verb} again at {say.code(place)}: a step waits "
        f"{say.time(wait.per_step)} of its {say.time(wait.step)} for it",
        location=place,
        seconds=remedy.saved(wait),
        certainty=certainty(wait),
        evidence=(
            Evidence("wait per step", wait.per_step, "s"),
            Evidence("share of the step", say.share(wait.share)),
            Evidence("passes over the data", round(plan.passes, 1)),
            Evidence("elements in a pass", round(plan.length)),
            Evidence("size of a cache", plan.bytes, "B"),
            Evidence("memory available for it", plan.spare, "B"),
            Evidence("a step from the second pass on", remedy.after, "s"),
        ),
        advice=cache_advice(plan),
        detail=remedy,
    )


def cache_advice(plan: CachePlan, behind: str = "it") -> str:
    needed, spare = say.size(plan.bytes), say.size(plan.spare)
    if plan.unrepeated is not None:
        return f"The cache behind `repeat` serves nothing: put `repeat` behind `cache` ({needed})."
    if plan.fits:
        advice = f"Put `.cache()` behind {behind}: {needed} fit into memory."
    else:
        advice = (
            f"{needed} do not fit into the {spare} of available memory: put "
            f"`.cache('a file on a fast disk')` behind {behind}, or store the prepared data once."
        )
    if plan.moved:
        advice += " Shuffle after the cache, not before it."
    if plan.reshuffled:
        advice += f" `.shuffle({plan.reshuffled})` behind that gives each pass an order of its own."
    return advice
