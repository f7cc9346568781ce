"""`unslow explain`: the page of a cause or of an error."""

from __future__ import annotations

import sys

import click

from unslow.cause import by_id, load
from unslow.errors import UnslowError
from unslow.explain import ERRORS


@click.command(short_help="Explain a cause or an error.")
@click.argument("name", required=False)
def explain(name: str | None) -> None:
    """Explain NAME: a cause such as graph-growth, or an error such as no-steps. Without one, list them all."""
    if name is None:
        for known in load()[0]:
            click.echo(f"{known.id:<22} {known.title}")
        for slug, (what, _) in ERRORS.items():
            click.echo(f"{slug:<22} {what}")
        return
    cause = by_id(name)
    if cause is not None:
        _show(f"{cause.id}: {cause.title}", cause.words)
    elif name in ERRORS:
        _show(f"{name}: {ERRORS[name][0]}", ERRORS[name][1])
    else:
        names = [one.id for one in load()[0]] + list(ERRORS)
        near = [
            word for word in names if any(part in word for part in name.split("-") if len(part) > 2)
        ]
        raise UnslowError(
            f"nothing is known as {name}",
            "it is neither a cause nor an error",
            f"Did you mean {', '.join(near[:4])}?"
            if near
            else "Type `unslow explain` for the list.",
            "unknown-name",
        )


def _show(title: str, text: str) -> None:
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    console.print(title, style="bold", markup=False)
    console.print()
    console.print(text, markup=False)
