"""Our own errors: each part of the recorder, each cause and each report made to raise."""

from __future__ import annotations

import io
import itertools
import json
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from bench.chaos.damage import RECORDED
from bench.chaos.kept import ROOT, Attack, Result
from bench.chaos.processes import environment

_TIMEOUT = 1500.0
_PAIRS = 200
_SHARES = 12  # of the injections into the recorder, each with one import of TensorFlow
_EXAMPLES = ("retracing", "feed_dict", "graph_growth", "memory_pressure", "input_bound")


def attacks() -> list[Attack]:
    return [
        *(
            Attack(f"parts of the recorder, share {share + 1} of {_SHARES}", _share_of(share))
            for share in range(_SHARES)
        ),
        Attack("each cause", causes_one_by_one),
        Attack("causes in pairs", causes_in_pairs),
        Attack("each fix", fixes),
        Attack("each part of a report", report_parts),
    ]


def _share_of(share: int) -> Callable[[], Result]:
    return lambda: recorder_parts(share, _SHARES)


def recorder_parts(share: int, shares: int) -> Result:
    """Training unaffected, nothing printed, and the report names the part."""
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as place:
        command = [sys.executable, "-m", "bench.chaos.injected", place, str(share), str(shares)]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment({"PYTHONPATH": str(ROOT)}),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not rows:
            return Result(broke=(f"it died with {done.returncode}: {done.stderr[-300:]}",))
        plain, tried = rows[0], rows[1:]
        broke = [text for row in tried for text in _judged(row, plain)]
    return Result(len(tried), broke=tuple(broke))


def _judged(row: dict[str, Any], plain: dict[str, Any]) -> Iterator[str]:
    name = row["name"]
    if row["code"] != plain["code"]:
        yield f"{name}: exit code {row['code']}: {row['output'][-300:]}"
    elif row["result"] != plain["result"]:
        yield f"{name}: other weights"
    elif row["output"] != plain["output"]:
        yield f"{name}: printed {row['output'][-300:]!r}"
    else:
        yield from _unnamed(row)


def _unnamed(row: dict[str, Any]) -> Iterator[str]:
    """The report must be made, and must name every part that raised."""
    view = _report(row["folder"])
    if not view["processes"]:  # nothing could be written, so nothing can be named
        if view["healthy"]:
            yield f"{row['name']}: without a recording the run is called healthy"
        return
    said = json.dumps([view["lost_probes"], view["not_judged"], view["notes"]])
    for part in row["parts"]:
        if f'"{part}"' not in said and f"{part} probe" not in said:
            yield f"{row['name']}: the report does not name {part}"


def _report(folder: str) -> dict[str, Any]:
    from unslow.analyse.run.assemble import load
    from unslow.cli.show import FORMATS, print_report, text_of
    from unslow.diagnose import diagnose
    from unslow.report.view import view_of

    view = view_of(diagnose(load(folder)))
    for form in FORMATS:
        text_of(view, form)
    print_report(view, io.StringIO())
    return view


class Injected(Exception):
    """What no part of unslow expects."""


def _raising(*_: Any, **__: Any) -> Any:
    raise Injected("injected")


def causes_one_by_one() -> Result:
    return _with_failing_causes(lambda ids: [(each,) for each in ids])


def causes_in_pairs() -> Result:
    def pairs(ids: list[str]) -> list[tuple[str, ...]]:
        every = list(itertools.combinations(ids, 2))
        return random.Random(1).sample(every, min(_PAIRS, len(every)))

    return _with_failing_causes(pairs)


def _with_failing_causes(choose: Callable[[list[str]], list[tuple[str, ...]]]) -> Result:
    """The report has every other finding, and says that the failing ones did not judge."""
    from unslow.cause import load as load_causes
    from unslow.diagnose import diagnose

    broke: list[str] = []
    run = next(_runs(_EXAMPLES[:1]))
    causes = {cause.id: cause for cause in load_causes()[0] if cause.ran}
    whole = {finding.cause for finding in diagnose(run).findings}
    groups = choose(sorted(causes))
    for group in groups:
        patches = [mock.patch.object(type(causes[each]), "detect", _raising) for each in group]
        for patch in patches:
            patch.start()
        try:
            diagnosis = diagnose(run)
        finally:
            for patch in patches:
                patch.stop()
        named = {item.cause: item.reason for item in diagnosis.not_judged}
        broke += [f"{each} is not named" for each in group if "Injected" not in named.get(each, "")]
        # What a failing cause would have taken in may stand by itself now.
        missing = whole - set(group) - {finding.cause for finding in diagnosis.findings}
        if missing:
            broke.append(f"without {' and '.join(group)}, {', '.join(missing)} is missing")
        if diagnosis.healthy:
            broke.append(f"without {' and '.join(group)} the run is called healthy")
    return Result(len(groups), broke=tuple(broke))


def fixes() -> Result:
    """A fix that fails is a refusal with the reason; the finding stays."""
    from unslow.diagnose import diagnose
    from unslow.model import Refusal

    broke: list[str] = []
    tries = 0
    for run in _runs(sorted(path.stem for path in RECORDED.glob("*.zip"))[::4]):
        from unslow.cause import by_id

        for finding in diagnose(run, with_fixes=False).findings:
            cause = by_id(finding.cause)
            if cause is None or not finding.fault:
                continue
            with mock.patch.object(type(cause), "fix", _raising):
                answers = diagnose(run).fixes.values()
            tries += 1
            failed = [one for one in answers if isinstance(one, Refusal)]
            if finding.location and not any("Injected" in one.reason for one in failed):
                sourced = finding.location.file in run.sources
                broke += [f"{finding.cause}: its fix is not named"] if sourced else []
    return Result(tries, broke=tuple(broke))


def report_parts(names: Sequence[str] = (), examples: Sequence[str] = _EXAMPLES[:2]) -> Result:
    """Each function that makes a part of the view or of the terminal report raises in turn."""
    from unslow.report import terminal, view

    broke: list[str] = []
    tries = 0
    for run in _runs(examples):
        for module, parts in ((view, _PARTS_OF_VIEW), (terminal, _PARTS_OF_TERMINAL)):
            for name in (part for part in parts if not names or part in names):
                tries += 1
                with mock.patch.object(module, name, _raising):
                    broke += _report_without(run, name)
    return Result(tries, broke=tuple(dict.fromkeys(broke)))


_PARTS_OF_VIEW = (
    *("account_of", "memory_account_of", "loop_of", "finding_of", "memory_of", "hot_lines"),
    *("processes_of", "workers_of", "start_of", "pipelines_of", "kernels_of", "step_charts"),
    *("memory_charts", "traces_of", "graphs_of", "seen_instead", "lost_probes"),
)
_PARTS_OF_TERMINAL = ("_account", "_loops", "_memory", "_hot_lines", "_finding")


def _report_without(run: Any, part: str) -> list[str]:
    from unslow.cli.show import FORMATS, print_report, text_of
    from unslow.diagnose import diagnose
    from unslow.report.view import view_of

    try:
        view = view_of(diagnose(run))
        texts = [text_of(view, form) for form in FORMATS]
        stream = io.StringIO()
        print_report(view, stream)
    except Exception as problem:  # noqa: BLE001 - whatever follows from it
        return [f"{part} takes the report with it: {problem!r}"]
    shown = stream.getvalue() + "".join(texts)
    return [] if "Injected" in shown else [f"{part} is missing and not named"]


def _runs(names: Sequence[str]) -> Iterator[Any]:
    from unslow.analyse.run.assemble import load

    for name in names:
        with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as place:
            with zipfile.ZipFile(RECORDED / f"{name}.zip") as archive:
                archive.extractall(place)
            yield load(str(Path(place)))
