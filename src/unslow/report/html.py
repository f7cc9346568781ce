"""One self-contained page: rendered with autoescaping, chart data as inert JSON, no network."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files

import jinja2
from markupsafe import Markup

from unslow.report import outline, words
from unslow.report.words import Row


def dumps(view: Row) -> str:
    """The page; below 2 MB for a run of any length, because charts are downsampled in the view."""
    charted = [chart["loop"] for chart in view["charts"]["steps"]]
    problems, notes = outline.divided(view["findings"])
    data = inert({**view["charts"], "seconds": view["seconds"]})
    return render(
        "page/page.html", view=view, charted=charted, problems=problems, notes=notes, data=data
    )


def render(template: str, **values: object) -> str:
    """A page of ours with its styles and its two scripts, the only ones that may run."""
    uplot, script = _file("vendor/uPlot.iife.min.js"), _file("page/page.js")
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in (uplot, script))
    # Scripts and styles are ours, not the user's, and must not be escaped.
    own = {
        "css": _file("vendor/uPlot.min.css") + _file("page/page.css"),
        "uplot": uplot,
        "js": script,
        "hashes": hashes,
    }
    marked = {name: Markup(text) for name, text in own.items()}
    page = _environment().from_string(_file(template))
    return page.render(safety=words.SAFETY, outline=outline, **marked, **values)


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


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
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
