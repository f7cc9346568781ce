"""`unslow fix`: the fixes as a diff; proved and written on request."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from unslow.cli.output import format_option, write_json
from unslow.cli.recorded import chosen_run, settings
from unslow.cli.show import diagnosis_of
from unslow.errors import UnslowError, suggestion
from unslow.model import Diagnosis, Finding, Fix, Proof, Refusal, Verdict

if TYPE_CHECKING:
    from unslow.planning import Step

Progress = Callable[[str], None]


@click.command(short_help="Print the fixes as a diff; prove and apply them.")
@click.argument("run", required=False)
@click.option("--only", metavar="CAUSE", help="Only the fix of this cause.")
@click.option(
    "--prove", is_flag=True, help="Prove each fix by running before and after; keep what is proved."
)
@click.option("--apply", is_flag=True, help="Write the files (with --prove: only what was proved).")
@click.option(
    "--steps", type=click.IntRange(min=5), help="Steps per trial (default: about ten seconds)."
)
@format_option("terminal", "json")
def fix(
    run: str | None, only: str | None, prove: bool, apply: bool, steps: int | None, form: str
) -> None:
    """Print the fixes for RUN (a run folder, part of its name, or the newest one) as one diff.

    The diff goes to stdout, and `git apply` and `patch -p1` take it; all else goes to stderr.
    """
    from unslow.fix.edit.apply import write

    _must_be_a_cause(only)
    folder = chosen_run(run)
    diagnosis = _kept(folder)
    found = _Found()
    for step in _planned(diagnosis, only, found):
        _tell(step)
        proof = _prove(diagnosis, folder, step, steps) if prove and _is_fix(step) else None
        found.take(step, proof)
        if proof:
            click.echo(f"  {proof.text}", err=True)
        if proof and proof.verdict is not Verdict.PROVED:
            click.echo("  left out: it was not proved", err=True)
    diff = _diff(diagnosis, found.texts)
    written = write(diagnosis.run, found.texts) if apply and found.texts else []
    if form == "json":
        write_json({"folder": folder, "fixes": found.rows, "diff": diff, "written": written})
    elif found.texts:
        _print_diff(diff)
    else:
        _nothing(diagnosis, only)
    for file in written:
        click.echo(f"unslow: wrote {file}", err=True)


@dataclass
class _Found:
    """The fixes so far: what they make of the files, and a row of each for JSON."""

    texts: dict[str, str] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def take(self, step: Step, proof: Proof | None) -> None:
        accepted = _is_fix(step) and (proof is None or proof.verdict is Verdict.PROVED)
        if accepted:
            self.texts = dict(step.after)
        self.rows.append(_row(step, proof, accepted))


def _row(step: Step, proof: Proof | None, accepted: bool) -> dict[str, Any]:
    answer = step.fix
    row = {
        "cause": step.finding.cause,
        "line": str(step.finding.location or ""),
        "title": step.finding.title,
        "fix": "",
        "safety": "",
        "note": "",
        "refusal": "",
        "proof": proof_row(proof) if proof else None,
        "accepted": accepted,
    }
    if isinstance(answer, Refusal):
        return {**row, "refusal": answer.reason}
    return {**row, "fix": answer.title, "safety": answer.safety.value, "note": answer.note}


def proof_row(proof: Proof) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(proof), "verdict": proof.verdict.value}


def _must_be_a_cause(name: str | None) -> None:
    from unslow.cause import by_id, load

    if name is None or by_id(name):
        return
    hint = suggestion(name, [cause.id for cause in load()[0]])
    raise UnslowError(
        f"no cause {name}",
        "there is none of that name",
        hint or "See: unslow explain",
        "unknown-name",
    )


def _kept(folder: str) -> Diagnosis:
    from unslow.settings.ignores import without_ignored

    return without_ignored(diagnosis_of(folder), settings())[0]


def _is_fix(step: Step) -> bool:
    return isinstance(step.fix, Fix)


def _planned(diagnosis: Diagnosis, only: str | None, found: _Found) -> Iterator[Step]:
    """Each fix in turn, made on top of those that were accepted before it."""
    from unslow.fix.edit.apply import check_unchanged
    from unslow.planning import Composition

    composition = Composition(diagnosis, only)
    for step in composition.steps():
        if isinstance(step.fix, Fix):
            check_unchanged(diagnosis.run, step.fix.files)
        yield step
        if found.texts != composition.texts:
            composition.accept(step)


def _tell(step: Step) -> None:
    finding, answer = step.finding, step.fix
    where = f" at {finding.location}" if finding.location else ""
    click.echo(f"{finding.cause}{where}: {finding.title}", err=True)
    if isinstance(answer, Refusal):
        _tell_refusal(finding, answer)
        return
    note = f": {answer.note}" if answer.note else ""
    click.echo(f"  {answer.title}  [{answer.safety.name}]{note}", err=True)


def _tell_refusal(finding: Finding, refusal: Refusal) -> None:
    elsewhere = refusal.location and refusal.location != finding.location
    line = f" ({refusal.location})" if elsewhere else ""
    click.echo(f"  no diff: {refusal.reason}{line}", err=True)
    if finding.advice:
        click.echo(f"  instead: {finding.advice}", err=True)


def _diff(diagnosis: Diagnosis, texts: Mapping[str, str]) -> str:
    from unslow.fix.edit.diff import unified_diff

    sources = diagnosis.run.sources
    return "".join(unified_diff(file, sources[file], text) for file, text in texts.items())


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def _print_diff(diff: str) -> None:
    if not sys.stdout.isatty():
        sys.stdout.write(diff)
        return
    for line in diff.splitlines():
        is_header = line.startswith(("+++", "---"))
        click.secho(line, fg=None if is_header else _COLOURS.get(line[:1]))


def _nothing(diagnosis: Diagnosis, only: str | None) -> None:
    problems = [each for each in diagnosis.findings if each.fault and only in (None, each.cause)]
    if not problems:
        what = f"no {only} was found" if only else "no problem was found"
        click.echo(f"unslow: nothing to fix: {what} in {diagnosis.run.folder}", err=True)
    refused = [diagnosis.findings[index] for index in diagnosis.fixes]
    for finding in problems:
        if finding.advice and finding not in refused:
            click.echo(f"{finding.cause}: {finding.advice}", err=True)


def _prove(
    diagnosis: Diagnosis,
    folder: str,
    step: Step,
    steps: int | None,
    progress: Progress = lambda text: click.echo(f"  {text}", err=True),
) -> Proof:
    from unslow.proof.prove import prove, question_for
    from unslow.proof.sides import side_of

    run = diagnosis.run
    before, after = side_of(run, folder, step.before), side_of(run, folder, step.after)
    return prove(before, after, question_for(run, step.finding, steps), progress)


def prove_all(folder: str, steps: int | None, progress: Progress) -> Iterator[tuple[str, Proof]]:
    """Each fix of a run, proved on top of those that were proved before it."""
    diagnosis = _kept(folder)
    found = _Found()
    for step in _planned(diagnosis, None, found):
        if isinstance(step.fix, Refusal):
            continue
        progress(f"{step.finding.cause}: {step.fix.title}")
        proof = _prove(diagnosis, folder, step, steps, progress)
        found.take(step, proof)
        yield f"{step.finding.cause} at {step.finding.location}: {step.fix.title}", proof
    if not found.rows:
        raise UnslowError(
            "nothing to prove",
            f"unslow has no automatic fix for {folder}",
            "Give two scripts, or a patch with --diff.",
            "no-fix",
        )
