"""TensorBoard event files: step time, phases, memory, findings; one TensorBoard run per loop."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unslow.export import need
from unslow.model import Diagnosis, Loop, Phase, Process
from unslow.report import markdown
from unslow.report.view import view_of
from unslow.report.view.charts import bucket_starts

POINTS = 10_000  # of one series: TensorBoard itself shows a thousand of them

_FORM = ("tensorboard", "tensorboard")  # the extra and the format, for the error


def write(diagnosis: Diagnosis, path: Path) -> None:
    records = need("tensorboard", "tensorboard.summary.writer.record_writer", *_FORM)
    events = need("tensorboard", "tensorboard.compat.proto.event_pb2", *_FORM)
    summaries = need("tensorboard", "tensorboard.compat.proto.summary_pb2", *_FORM)
    texts = need("tensorboard", "tensorboard.plugins.text.summary_v2", *_FORM)
    started = diagnosis.run.started

    def file(run: str, entries: Iterator[tuple[float, int, Any]]) -> None:
        folder = path / run
        folder.mkdir(parents=True, exist_ok=True)
        # The name that TensorBoard looks for; the same run exported again replaces its file.
        name = f"events.out.tfevents.{int(started):010d}.{socket.gethostname()}.unslow"
        with (folder / name).open("wb") as stream:
            writer = records.RecordWriter(stream)
            writer.write(
                events.Event(wall_time=started, file_version="brain.Event:2").SerializeToString()
            )
            for time, step, summary in entries:
                event = events.Event(wall_time=started + time, step=step, summary=summary)
                writer.write(event.SerializeToString())
            writer.flush()

    def scalars(values: dict[str, float]) -> Any:
        value = summaries.Summary.Value
        return summaries.Summary(
            value=[value(tag=tag, simple_value=number) for tag, number in values.items()]
        )

    for number, loop in enumerate(diagnosis.run.loops):
        file(
            folder_of(number, loop),
            ((time, step, scalars(values)) for time, step, values in points_of(loop)),
        )
    for process in diagnosis.run.processes:
        file(
            f"process {process.index}",
            ((time, step, scalars(values)) for time, step, values in memory_of(process)),
        )
    report = texts.text_pb("findings", markdown.dumps(view_of(diagnosis)))
    file("report", iter([(diagnosis.run.seconds, diagnosis.run.steps, report)]))


def folder_of(number: int, loop: Loop) -> str:
    """A name that every file system takes."""
    return (
        f"loop {number} "
        + re.sub(r"[^\w.-]+", "_", f"{Path(loop.location.file).name}-{loop.location.line}")[-100:]
    )


def points_of(loop: Loop) -> Iterator[tuple[float, int, dict[str, float]]]:
    """Time, step and scalars: means of groups of rows in long loops, and the longest step of
    each."""
    starts = bucket_starts(len(loop.end), POINTS)
    if not len(starts):
        return
    weights = loop.count.astype(float)
    total = np.add.reduceat(weights, starts)
    ends = np.append(starts[1:], len(loop.end)) - 1
    columns = {
        "step seconds/mean": np.add.reduceat(loop.seconds * weights, starts) / total,
        "step seconds/longest": np.maximum.reduceat(loop.high, starts),
    }
    for phase in Phase:
        if loop.phase(phase) > 0:
            columns[f"phase seconds/{phase.name.lower()}"] = (
                np.add.reduceat(loop.phases[:, phase] * weights, starts) / total
            )
    for row, end in enumerate(ends):
        yield (
            float(loop.end[end]),
            int(loop.number[end]),
            {tag: float(values[row]) for tag, values in columns.items()},
        )


def memory_of(process: Process) -> Iterator[tuple[float, int, dict[str, float]]]:
    """Resident memory; its step is the number of the reading, because TensorBoard wants one."""
    rss = process.ticks.columns.get("rss", np.empty(0))
    for number, (time, value) in enumerate(zip(process.ticks.time, rss, strict=False)):
        if np.isfinite(value):
            yield float(time), number, {"memory/resident bytes": float(value)}
