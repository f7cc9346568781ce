"""Input pipelines: stages from the source to the step, their times and buffers."""

from __future__ import annotations

import math

from unslow.analyse.input.pipeline import Pipeline, Stage, slowest
from unslow.analyse.input.run_pipelines import pipelines
from unslow.analyse.stats.robust import ratio
from unslow.model import Run, line_text
from unslow.report.words import Row

PICTURES = 4  # pipelines that are drawn, those with most batches first


def pipelines_of(run: Run) -> list[Row]:
    """Pipelines that fed steps, the busiest first."""
    found = [one for one in pipelines(run) if one.stages]
    shown = sorted(found, key=lambda one: -one.batches)[:PICTURES]
    return [_pipeline(one) for one in shown]


def _pipeline(pipeline: Pipeline) -> Row:
    longest, limiting = slowest(pipeline.stages)
    return {
        "line": line_text(pipeline.location),
        "evaluates": pipeline.evaluates,
        "batches": pipeline.batches,
        "wait": None if math.isnan(pipeline.wait) else pipeline.wait,
        "seconds": longest,
        "stages": [
            _stage(stage, longest, stage in limiting[:1]) for stage in reversed(pipeline.stages)
        ],
    }


def _stage(stage: Stage, longest: float, slow: bool) -> Row:
    size = stage.asked.buffer_size or 0
    full = stage.buffered / size if size > 0 else None
    return {
        "name": stage.name,
        "line": line_text(stage.location),
        "code": stage.location.code if stage.location else "",
        "injected": stage.injected,
        "seconds": stage.seconds,
        "share": min(1.0, ratio(stage.seconds, longest)),
        "parallelism": stage.parallelism,
        "tuned": stage.tuned,
        "elements": stage.elements,
        "bytes": stage.bytes,
        "buffered": stage.buffered,
        "full": None if full is None else min(1.0, full),
        "slowest": slow,
    }
