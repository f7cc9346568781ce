"""`unslow fix`: the fixes as a diff; proved and written on request."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import click

from unslow.cli.show import chosen_run
from unslow.errors import UnslowError
from unslow.model import Diagnosis, Finding, Fix, Proof, Refusal, Verdict


@click.command(short_help="Write the fixes as a diff; prove and apply them.")
@click.argument("run", required=False)
@click.option("--only", metavar="CAUSE", help="Only the fix of this cause.")
@click.option(
    "--prove",
    is_flag=True,
    help="Prove each fix by running before and after; keep what was proved.",
)
@click.option("--apply", is_flag=True, help="Write the files (with --prove: only what was proved).")
@click.option(
    "--steps",
    type=click.IntRange(min=5),
    help="Steps per trial (default: about ten seconds' worth).",
)
def fix(run: str | None, only: str | None, prove: bool, apply: bool, steps: int | None) -> None:
    """Print the fixes for RUN (a run folder, part of its name, or the newest one) as one diff.

    The diff goes to stdout, and `git apply` and `patch -p1` take it; all else goes to stderr.
    """
    from unslow.fix.edit.apply import check_unchanged, write
    from unslow.planning import Composition

    folder = chosen_run(run)
    diagnosis = _diagnosis(folder)
    composition = Composition(diagnosis, only)
    for step in composition.steps():
        _tell(step.finding, step.fix)
        if isinstance(step.fix, Refusal):
            continue
        check_unchanged(diagnosis.run, step.fix.files)
        if prove:
            proof = _prove(
                diagnosis, folder, step.finding, step.before, step.after, steps, _progress
            )
            click.echo(f"  {proof.text}", err=True)
            if proof.verdict is not Verdict.PROVED:
                click.echo("  left out: it was not proved", err=True)
                continue
        composition.accept(step)
    if not composition.texts:
        _nothing(diagnosis, only)
        return
    _print_diff(diagnosis, composition.texts)
    if apply:
        for file in write(diagnosis.run, composition.texts):
            click.echo(f"unslow: wrote {file}", err=True)


def _diagnosis(folder: str) -> Diagnosis:
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose

    return diagnose(load(folder))


def _tell(finding: Finding, answer: Fix | Refusal) -> None:
    where = f" at {finding.location}" if finding.location else ""
    click.echo(f"{finding.cause}{where}: {finding.title}", err=True)
    if isinstance(answer, Refusal):
        line = (
            f" ({answer.location})"
            if answer.location and answer.location != finding.location
            else ""
        )
        click.echo(f"  no diff: {answer.reason}{line}", err=True)
        if finding.advice:
            click.echo(f"  instead: {finding.advice}", err=True)
    else:
        click.echo(
            f"  {answer.title}  [{answer.safety.name}]{': ' + answer.note if answer.note else ''}",
            err=True,
        )


def _print_diff(diagnosis: Diagnosis, texts: dict[str, str]) -> None:
    from unslow.fix.edit.diff import unified_diff

    colours = {"+": "green", "-": "red", "@": "cyan"}
    for file, text in texts.items():
        diff = unified_diff(file, diagnosis.run.sources[file], text)
        if not sys.stdout.isatty():
            sys.stdout.write(diff)
            continue
        for line in diff.splitlines():
            click.secho(
                line, fg=colours.get(line[:1]) if not line.startswith(("+++", "---")) else None
            )


def _nothing(diagnosis: Diagnosis, only: str | None) -> None:
    faults = [
        finding
        for finding in diagnosis.findings
        if finding.fault and (not only or finding.cause == only)
    ]
    if not faults:
        what = f"no {only} was found" if only else "no fault was found"
        click.echo(f"unslow: nothing to fix: {what} in {diagnosis.run.folder}", err=True)
        return
    told = [
        diagnosis.findings[index]
        for index, answer in diagnosis.fixes.items()
        if isinstance(answer, Refusal)
    ]
    for finding in faults:
        if finding.advice and finding not in told:
            click.echo(f"{finding.cause}: {finding.advice}", err=True)


def _prove(
    diagnosis: Diagnosis,
    folder: str,
    finding: Finding,
    before: object,
    after: object,
    steps: int | None,
    progress: Callable[[str], None],
) -> Proof:
    from unslow.proof.prove import prove, question_for
    from unslow.proof.sides import side_of

    run = diagnosis.run
    question = question_for(run, finding, steps)
    return prove(side_of(run, folder, before), side_of(run, folder, after), question, progress)  # type: ignore[arg-type]


def _progress(text: str) -> None:
    click.echo(f"  {text}", err=True)


def prove_all(
    folder: str, steps: int | None, progress: Callable[[str], None]
) -> Iterator[tuple[str, Proof]]:
    """Each fix of a run, proved on top of those that were proved before it."""
    from unslow.planning import Composition

    diagnosis = _diagnosis(folder)
    composition = Composition(diagnosis)
    none = True
    for step in composition.steps():
        if isinstance(step.fix, Refusal):
            continue
        none = False
        progress(f"{step.finding.cause}: {step.fix.title}")
        proof = _prove(diagnosis, folder, step.finding, step.before, step.after, steps, progress)
        if proof.verdict is Verdict.PROVED:
            composition.accept(step)
        yield f"{step.finding.cause} at {step.finding.location}: {step.fix.title}", proof
    if none:
        raise UnslowError(
            "nothing to prove",
            f"unslow has no automatic fix for {folder}",
            "Give two scripts, or a patch with --diff.",
            "no-fix",
        )
