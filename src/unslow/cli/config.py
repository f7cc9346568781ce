"""`unslow config`: the settings in force, and the file and line of each."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from unslow.cli.output import format_option, write_json
from unslow.cli.recorded import settings
from unslow.facts.json_object import JsonObject
from unslow.settings import Settings

_COLUMN = 24


@click.command(short_help="Show the settings in force and where they come from.")
@format_option("terminal", "json")
def config(form: str) -> None:
    """Show the settings in force: of unslow.toml or `[tool.unslow]` in pyproject.toml, or
    defaults."""
    found = settings()
    rows = list(_rows(found))
    if form == "json":
        write_json({"file": str(found.file or ""), "settings": rows})
        return
    click.echo(f"from {found.file}" if found.file else "no settings file: all defaults")
    for row in rows:
        value = json.dumps(row["value"], ensure_ascii=False)
        click.echo(f"{row['key']:<{_COLUMN}} {value:<{_COLUMN}} {row['origin']}")


def _rows(found: Settings) -> Iterator[JsonObject]:
    values: JsonObject = {
        "ignore": list(found.ignore),
        "min_share": found.min_share,
        "runs": found.runs,
    }
    for command, options in found.commands.items():
        values.update({f"{command}.{name}": value for name, value in options.items()})
    for key, value in values.items():
        yield {"key": key, "value": value, "origin": found.origin(key)}
