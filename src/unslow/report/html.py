"""One self-contained page: rendered with autoescaping, chart data as inert JSON, no network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from unslow.report import job as jobs
from unslow.report import json_report, outline, words
from unslow.report.rows import FindingRow
from unslow.report.words import Row

# Every section of the page: its file in page/sections, which is empty where it does not apply, and
# its title in the list of contents.
_BEFORE = {
    "verdict": "Verdict",
    "findings": "Also found",
    "notes": "Also worth knowing",
    "job": "Who waits for whom",
    "account": "Where the time went",
}
_PER_PROCESS = {"time": "Time axis", "loops": "Step time", "memory": "Memory"}
_AFTER = {
    "workers": "Workers",
    "graphs": "Graphs and traces",
    "input": "Input pipeline",
    "kernels": "What TensorFlow ran",
    "start": "Up to the first step",
    "lines": "Hottest lines",
    "source": "Your source",
    "causes": "The causes explained",
    "limits": "Limits",
    "next": "What to type next",
}
_TITLES = {**_BEFORE, **_PER_PROCESS, **_AFTER}
# Scripts of the page, in the order in which they need each other.
_PAGE_SCRIPTS = (
    *("theme", "copy", "numbers", "charts", "timeline", "heat"),
    *("processes", "links", "search", "download", "print"),
)


def dumps(view: Row) -> str:
    """The page; below 2 MB for a run of any length, because charts are downsampled in the view."""
    problems, notes = outline.divided(view["findings"])
    lead = problems[0] if problems else next((one for one in notes if one["location"]), None)
    values: dict[str, object] = {
        "view": view,
        "charted": [chart["loop"] for chart in view["charts"]["steps"]],
        "problems": problems,
        "notes": notes,
        "lead": lead,
        "anchors": _anchors(view["findings"], problems, notes, lead),
        "explained": [each["id"] for each in view["explanations"]],
    }
    rendered = {name: _section(name, values) for name in _TITLES}
    heat = view["job"]["heat"] if view["job"] else None
    several = [each for each in view["processes"] if each["steps"]]
    several = jobs.shown(view, several, "index")
    values |= {
        "contents": [(name, title) for name, title in _TITLES.items() if rendered[name]],
        "before": [rendered[name] for name in _BEFORE],
        "per_process": [rendered[name] for name in _PER_PROCESS],
        "after": [rendered[name] for name in _AFTER],
        "processes": several if len(several) > 1 else [],
        "data": inert({**view["charts"], "seconds": view["seconds"], "heat": heat}),
        "report": inert(json.loads(json_report.dumps(view))),
    }
    return render("page/page.html", _PAGE_SCRIPTS, **values)


def _section(name: str, values: dict[str, object]) -> Markup:
    template = _environment().get_template(f"page/sections/{name}.html")
    return Markup(template.render(values).strip())


def _anchors(
    findings: list[FindingRow],
    problems: list[FindingRow],
    notes: list[FindingRow],
    lead: FindingRow | None,
) -> list[str]:
    """Where in the page each finding is: the lead at the top, the others in cards of their own."""
    names = {id(one): f"finding-{number}" for number, one in enumerate(problems, 1)}
    rest = [one for one in notes if one is not lead]
    names |= {id(one): f"finding-note-{number}" for number, one in enumerate(rest, 1)}
    if lead is not None:
        names[id(lead)] = "verdict"
    return [names[id(finding)] for finding in findings]


def render(template: str, scripts: Sequence[str], **values: object) -> str:
    """A page of ours with its styles and its two scripts, the only ones that may run."""
    uplot = _file("vendor/uPlot.iife.min.js")
    own = "".join(_file(f"page/scripts/{name}.js") for name in scripts)
    script = f'"use strict";\n(() => {{\n{own}root.dataset.ready = "1";\n}})();\n'
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in (uplot, script))
    # Scripts and styles are ours, not the user's, and must not be escaped.
    styles = _file("vendor/uPlot.min.css") + _file("page/page.css")
    marked = {"css": styles, "uplot": uplot, "js": script, "hashes": hashes}
    page = _environment().get_template(template)
    return page.render(**{name: Markup(text) for name, text in marked.items()}, **values)


def inert(data: object) -> Markup:
    """JSON that can stand inside a script element: no text of the user's can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def ticked(text: str) -> Markup:
    """Escaped text in which what stands between back-ticks is code."""
    parts = []
    for code, part in words.spans(unbroken(text)):
        parts.append(Markup("<code>{}</code>" if code else "{}").format(part))
    return Markup("").join(parts)


def unbroken(text: str) -> str:
    return words.unbroken(text, "\u00a0")


def _sentence(text: str) -> str:
    return words.capitalized(words.ended(unbroken(text)))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {"safety": words.SAFETY, "outline": outline, "jobs": jobs}
    environment.filters |= {
        "seconds": lambda value: unbroken(words.seconds(value)),
        "share": words.share,
        "size": lambda value: unbroken(words.size(value)),
        "count": words.count,
        "speed": words.speed,
        "ticks": ticked,
        "unbroken": unbroken,
        "sentence": _sentence,
    }
    return environment


def _file(name: str) -> str:
    return files("unslow.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
