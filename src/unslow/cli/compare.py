"""`unslow compare`: did it get faster or slower?"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from unslow.cli.output import format_option, must_be_writable, print_rich, progress, write
from unslow.cli.recorded import chosen_run
from unslow.cli.show import diagnosis_of

if TYPE_CHECKING:
    from unslow.model import Proof, Run
    from unslow.report.words import Row


@click.command(short_help="Compare two runs.")
@click.argument("before")
@click.argument("after")
@click.option(
    "--fail-if",
    metavar="slower=N%",
    help="Exit with 1 if a loop is surely slower by more than this, or could not be compared.",
)
@click.option(
    "--repeat",
    metavar="N",
    type=click.IntRange(min=2),
    help="Run both commands again, up to N times each in turn, and prove the difference.",
)
@click.option("-o", "--output", metavar="PATH", help="Write to a file instead of the terminal.")
@format_option("terminal", "json", "markdown", "html")
def compare(
    before: str,
    after: str,
    fail_if: str | None,
    repeat: int | None,
    output: str | None,
    form: str,
) -> None:
    """Compare run BEFORE with run AFTER: folders, or parts of their names.

    Loops are matched by line through edits of the source. Where other programs used the
    processor during a run, the difference cannot be told, and --fail-if passes; a run that
    crashed or did not train fails it.
    """
    from unslow.compare import compare as compared
    from unslow.compare.view import view_of

    limit = _limit(fail_if)
    must_be_writable(output)
    folders = [chosen_run(name) for name in (before, after)]
    first, second = diagnosis_of(folders[0], with_fixes=False), diagnosis_of(folders[1])
    found = compared(first, second)
    proof = _proved(folders, (first.run, second.run), repeat, limit) if repeat else None
    _show(view_of(found, first, second, proof), form, output)
    failures = list(found.failures(limit)) if limit is not None else []
    if proof and limit is not None:
        failures = list(found.problems)
        if _regressed(proof, limit):
            failures.append("it is slower when both are run in turn")
    for failure in failures:
        click.echo(f"unslow: failed: {failure}", err=True)
    if failures:
        sys.exit(1)


def _regressed(proof: Proof, limit: float) -> bool:
    """By pairs where there are enough, else by the interval, which must exceed the limit."""
    from unslow.compare.regression import CHECKPOINTS, Decision, decide

    if len(proof.before) < CHECKPOINTS[0]:
        return proof.high < 1 / (1 + limit)
    return decide(proof.before, proof.after, limit) is Decision.REGRESSED


def _proved(folders: list[str], runs: tuple[Run, Run], repeat: int, limit: float | None) -> Proof:
    from unslow.compare.regression import CHECKPOINTS, is_decided
    from unslow.proof.prove import prove
    from unslow.proof.question import Question, steps_for
    from unslow.proof.sides import side_of
    from unslow.proof.turns import can_take_turns

    before, after = (side_of(run, folder) for run, folder in zip(runs, folders, strict=True))
    ends = None
    if limit is not None and repeat >= CHECKPOINTS[0]:
        ends = partial(is_decided, limit=limit)
    question = Question(
        min(map(steps_for, runs)),
        pairs=repeat,
        is_decided=ends,
        in_turns=can_take_turns(runs),
    )
    return prove(before, after, question, progress)


def _show(view: Row, form: str, output: str | None) -> None:
    from unslow.report import comparison, json_report

    writers = {
        "json": json_report.written,
        "markdown": comparison.as_markdown,
        "html": comparison.as_html,
    }
    if form == "terminal":
        print_rich(comparison.renderable(view))
    elif output:
        write(output, writers[form](view))
        click.echo(output)
    else:
        click.echo(writers[form](view), nl=False)


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
