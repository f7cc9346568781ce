"""`unslow explain`: the page of a cause or of an error."""

from __future__ import annotations

import sys

import click

from unslow.cause import HEADINGS, load
from unslow.cli.output import format_option, write_json
from unslow.errors import UnslowError, suggestion
from unslow.explain import ERRORS, flowing

Entry = dict[str, str]


@click.command(short_help="Explain a cause or an error.")
@click.argument("name", required=False)
@format_option("terminal", "json")
def explain(name: str | None, form: str) -> None:
    """Explain NAME: a cause such as graph-growth, or an error such as no-steps; all without
    NAME."""
    entries = _entries()
    if name is not None:
        entries = [entry for entry in entries if entry["name"] == name]
    if not entries:
        known = [entry["name"] for entry in _entries()]
        hint = suggestion(str(name), known) or "Type `unslow explain` for the list."
        raise UnslowError(
            f"cannot explain {name}", "it is neither a cause nor an error", hint, "unknown-name"
        )
    if form == "json":
        write_json({"entries": entries})
    elif name is not None:
        _show(entries[0])
    else:
        for entry in entries:
            click.echo(f"{entry['name']:<22} {entry['title']}")


def _entries() -> list[Entry]:
    causes = [_entry(each.id, "cause", each.title, each.words) for each in load()[0]]
    return causes + [_entry(slug, "error", *words) for slug, words in ERRORS.items()]


def _entry(name: str, kind: str, title: str, text: str) -> Entry:
    return {"name": name, "kind": kind, "title": title, "text": text}


def _show(entry: Entry) -> None:
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    console.print(f"{entry['name']}: {entry['title']}", style="bold", markup=False)
    console.print()
    console.print(flowing(entry["text"], HEADINGS), markup=False)
