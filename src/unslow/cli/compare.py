"""`unslow compare`: did it get better?"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click

from unslow.cli.show import chosen_run


@click.command(short_help="Set two runs side by side.")
@click.argument("before")
@click.argument("after")
@click.option(
    "--fail-if",
    metavar="slower=N%",
    help="Exit with 1 if a loop is surely slower by more than this.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "json"]),
    default="terminal",
    show_default=True,
)
def compare(before: str, after: str, fail_if: str | None, form: str) -> None:
    """Compare run BEFORE with run AFTER: folders, or parts of their names."""
    from unslow.analyse.run.assemble import load
    from unslow.compare import compare as set_side_by_side
    from unslow.diagnose import diagnose

    limit = _limit(fail_if)
    first, second = (diagnose(load(chosen_run(name)), with_fixes=False) for name in (before, after))
    found = set_side_by_side(first, second)
    if form == "json":
        click.echo(json.dumps(asdict(found)))
    else:
        for loop in found.loops:
            word = "slower" if loop.low > 1 else "faster" if loop.high < 1 else "no sure difference"
            click.echo(
                f"{loop.line}: {loop.before * 1e3:.3g} → {loop.after * 1e3:.3g} ms a step, {word} "
                f"({loop.ratio:.2f}×, {loop.low:.2f} to {loop.high:.2f})"
            )
            for phase, (one, other) in loop.phases.items():
                click.echo(f"    {phase:<8} {one * 1e3:9.3f} → {other * 1e3:9.3f} ms")
        for title, causes in (
            ("gone", found.gone),
            ("new", found.new),
            ("still there", found.stayed),
        ):
            if causes:
                click.echo(f"{title}: {', '.join(causes)}")
        if not found.loops:
            click.echo("one of the runs has no training loop")
    if limit is not None and found.slowest > 1 + limit:
        sys.exit(1)


def _limit(text: str | None) -> float | None:
    if text is None:
        return None
    name, _, value = text.partition("=")
    try:
        if name.strip() != "slower":
            raise ValueError
        return float(value.strip().removesuffix("%")) / 100
    except ValueError:
        raise click.BadParameter("write it as slower=5%", param_hint="--fail-if") from None
