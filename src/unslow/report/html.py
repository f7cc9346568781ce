"""One self-contained page: the view rendered with autoescaping, chart data as inert JSON, nothing from the network."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from unslow.report import words


def dumps(view: dict[str, Any]) -> str:
    """The page; below 2 MB for a run of any length, because charts are downsampled in the view."""
    uplot, script = _file("vendor/uPlot.iife.min.js"), _file("page/page.js")
    charted = [chart["loop"] for chart in view["charts"]["steps"]]
    return (
        _environment()
        .from_string(_file("page/page.html"))
        .render(
            view=view,
            charted=charted,
            safety=words.SAFETY,
            # Ours, not the user's: scripts and styles may not be escaped, and only these two scripts may run.
            css=Markup(_file("vendor/uPlot.min.css") + _file("page/page.css")),
            uplot=Markup(uplot),
            js=Markup(script),
            hashes=Markup(" ".join(f"'sha256-{_digest(text)}'" for text in (uplot, script))),
            data=inert({**view["charts"], "seconds": view["seconds"]}),
        )
    )


def inert(data: Any) -> Markup:
    """JSON that can stand inside a script element: no text of the user's can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def ticked(text: str) -> Markup:
    """Escaped text in which what stands between back-ticks is code."""
    parts = (
        Markup("<code>{}</code>" if code else "{}").format(part) for code, part in words.spans(text)
    )
    return Markup("").join(parts)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {
        "seconds": words.seconds,
        "share": words.share,
        "size": words.size,
        "count": words.count,
        "ticks": ticked,
        "sentence": lambda text: (
            f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?", "!")) else ".")
        ),
    }
    return environment


def _file(name: str) -> str:
    return files("unslow.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
