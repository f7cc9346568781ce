"""The words for work that a pipeline does again in every pass: what a cache would hold, and what it would leave."""

from __future__ import annotations

from unslow.analyse import wording as say
from unslow.analyse.input.remedies import Remedy
from unslow.analyse.input.waits import Wait
from unslow.model import Evidence, Finding, Run


def cache_finding(cause: str, run: Run, wait: Wait, remedy: Remedy) -> Finding:
    """The finding for work that is the same in every pass; also for what reads no files."""
    assert remedy.stage is not None
    facts = remedy.facts
    place = say.place(run, remedy.stage.location or wait.loop.location)
    verb = "decodes the same files" if facts["files"] else "does the same work"
    evidence = (
        Evidence("wait per step", wait.per_step, "s"),
        Evidence("share of the step", f"{say.share(wait.share)}"),
        Evidence("passes over the data", round(facts["passes"], 1)),
        Evidence("elements in a pass", round(facts["length"])),
        Evidence("what a cache would hold", facts["bytes"], "B"),
        Evidence("memory that may be used for it", facts["spare"], "B"),
        Evidence("a step from the second pass on", remedy.after, "s"),
    )
    if facts["fits"]:
        advice = f"Put `.cache()` behind it: {say.size(facts['bytes'])} fit into memory."
    else:
        advice = (
            f"{say.size(facts['bytes'])} do not fit into the {say.size(facts['spare'])} of memory there are: put "
            "`.cache('a file on a fast disk')` behind it, or store the prepared data once."
        )
    if facts["moved"]:
        advice += " Shuffle after the cache, not before it."
    return Finding(
        cause=cause,
        title=f"each pass {verb} again at {say.code(place)}: a step waits {say.time(wait.per_step)} "
        f"of its {say.time(wait.step)} for it",
        location=place,
        seconds=remedy.saved(wait),
        evidence=evidence,
        advice=advice,
        facts={
            **facts,
            "remedy": "cache",
            "kind": remedy.stage.kind,
            "settings": dict(remedy.stage.settings),
        },
    )
