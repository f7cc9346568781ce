"""`unslow fix`: the fixes as a diff; proved and written on request."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from unslow.cli.durations import budget_option
from unslow.cli.options import takes
from unslow.cli.output import format_option, progress, say, write_json
from unslow.cli.recorded import chosen_run, settings
from unslow.cli.show import diagnosis_of
from unslow.errors import UnslowError, suggestion
from unslow.facts.json_object import JsonObject
from unslow.model import Diagnosis, Fix, Proof, Refusal, line_text
from unslow.report import words

if TYPE_CHECKING:
    from unslow.proof.fixing import Outcome, Wanted, WholeRun


@dataclass(frozen=True)
class _Options:
    """Which fixes of which run, and what to do with them."""

    run: str | None
    only: str | None
    form: str
    prove: bool
    apply: bool
    accept: str | None
    brief: bool
    steps: int | None
    budget: float | None


@click.command(short_help="Print the fixes as a diff; prove and apply them.")
@click.argument("run", required=False)
@click.option("--only", metavar="CAUSE", help="Only the fix of this cause.")
@click.option(
    "--prove", is_flag=True, help="Prove the fixes by running before and after; keep what holds."
)
@click.option("--apply", is_flag=True, help="Write the files (with --prove: only what was proved).")
@click.option(
    "--accept",
    type=click.Choice(["review"]),
    help="With --prove --apply: also write fixes that train as well, but with other weights.",
)
@click.option(
    "--brief",
    is_flag=True,
    help="Describe what to change by hand, for every finding without an automatic fix.",
)
@click.option(
    "--steps", type=click.IntRange(min=5), help="Steps per trial (default: about ten seconds)."
)
@budget_option
@format_option("terminal", "json")
@takes(_Options)
def fix(options: _Options) -> None:
    """Print the fixes for RUN (a run folder, part of its name, or the newest one) as one diff.

    The diff goes to stdout, and `git apply` and `patch -p1` take it; all else goes to stderr.
    Several fixes are proved together; where that fails, one by one.
    """
    _must_be_a_cause(options.only)
    folder = chosen_run(options.run)
    diagnosis = _kept(folder)
    if options.brief:
        _print_briefs(diagnosis, options.only, options.form)
    else:
        _fix(diagnosis, folder, options)


def _fix(diagnosis: Diagnosis, folder: str, options: _Options) -> None:
    from unslow.fix.edit.apply import write
    from unslow.proof.budget import Budget
    from unslow.proof.fixing import Wanted, whole_run

    agreed = not options.apply or options.accept == "review"
    wanted = Wanted(options.only, options.steps, agreed, Budget(options.budget))
    outcomes = _outcomes(diagnosis, folder, wanted, options.prove)
    texts = _texts(outcomes)
    diff = _diff(diagnosis, texts)
    is_run = options.prove and texts
    whole = whole_run(diagnosis.run, folder, texts, wanted.budget) if is_run else None
    written = write(diagnosis.run, texts) if options.apply and texts else []
    if options.form == "json":
        rows = [_row(outcome) for outcome in outcomes]
        gained = {"before": whole.before, "after": whole.after} if whole else None
        found = {"folder": folder, "fixes": rows, "diff": diff, "written": written}
        write_json({**found, "whole": gained, "files": texts})
        return
    _tell_rest(diagnosis, options.only)
    if texts:
        _print_diff(diff)
    else:
        _nothing(diagnosis, options.only)
    if whole:
        click.echo(_gained(whole), err=True)
    for file in written:
        say(f"unslow: wrote {file}")


def _outcomes(diagnosis: Diagnosis, folder: str, wanted: Wanted, is_proved: bool) -> list[Outcome]:
    """What becomes of each fix, reported as it is known."""
    from unslow.proof.fixing import planned, proved

    found: list[Outcome] = []
    if not is_proved:
        for outcome in planned(diagnosis, wanted.only):
            _tell(outcome)
            found.append(outcome)
        return found
    for outcome in proved(diagnosis, folder, wanted, progress):
        _tell(outcome)
        is_told = any(outcome.proof is other.proof for other in found)
        if outcome.proof:
            say("  PROVED together with the fix above" if is_told else f"  {outcome.proof.text}")
        if outcome.lacks_consent:
            click.echo("  left out: add `--accept review` if other weights are fine", err=True)
        elif outcome.proof and not outcome.accepted:
            click.echo("  left out: it was not proved", err=True)
        found.append(outcome)
    return found


def _texts(outcomes: Sequence[Outcome]) -> Mapping[str, str]:
    """What the accepted fixes make of the files: the last one stands on all before it."""
    accepted = [outcome.step.after for outcome in outcomes if outcome.accepted]
    return accepted[-1] if accepted else {}


def _gained(whole: WholeRun) -> str:
    """What the program gained in all, and what is left of it."""
    before, after = words.seconds(whole.before), words.seconds(whole.after)
    speed = words.speed(whole.before / whole.after) if whole.after > 0 else ""
    start = f", of which {words.seconds(whole.start)} before the first step" if whole.start else ""
    return f"unslow: the whole program: {before} → {after} ({speed}){start}"


def _row(outcome: Outcome) -> JsonObject:
    step, answer, proof = outcome.step, outcome.step.fix, outcome.proof
    row = {
        "cause": step.finding.cause,
        "line": line_text(step.finding.location),
        "title": step.finding.title,
        "fix": "",
        "safety": "",
        "note": "",
        "refusal": "",
        "proof": proof_row(proof) if proof else None,
        "accepted": outcome.accepted,
    }
    if isinstance(answer, Refusal):
        return {**row, "refusal": answer.reason}
    return {**row, "fix": answer.title, "safety": answer.safety.value, "note": answer.note}


def proof_row(proof: Proof) -> JsonObject:
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


def _tell(outcome: Outcome) -> None:
    finding, answer = outcome.step.finding, outcome.step.fix
    where = words.led(" at ", line_text(finding.location))
    say(f"{finding.cause}{where}: {finding.title}")
    if isinstance(answer, Fix):
        say(f"  {answer.title}  [{answer.safety.name}]{words.led(': ', answer.note)}")
        return
    elsewhere = answer.location and answer.location != finding.location
    line = f" ({answer.location})" if elsewhere else ""
    say(f"  no diff: {answer.reason}{line}")
    if finding.advice:
        say(f"  instead: {finding.advice}")


def _diff(diagnosis: Diagnosis, texts: Mapping[str, str]) -> str:
    from unslow.fix.edit.diff import unified_diff

    sources = diagnosis.run.sources
    return "".join(unified_diff(file, sources[file], text) for file, text in texts.items())


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def _print_diff(diff: str) -> None:
    if not sys.stdout.isatty():
        sys.stdout.write(diff)
        return
    from unslow.report.words import plain

    for line in diff.splitlines():
        is_header = line.startswith(("+++", "---"))
        click.secho(plain(line), fg=None if is_header else _COLOURS.get(line[:1]))


def _nothing(diagnosis: Diagnosis, only: str | None) -> None:
    problems = [each for each in diagnosis.findings if each.fault and only in (None, each.cause)]
    if not problems:
        what = f"no {only} was found" if only else "no problem was found"
        say(f"unslow: nothing to fix: {what} in {diagnosis.run.folder}")
        return
    click.echo("unslow: for all that is needed to change it by hand: unslow fix --brief", err=True)


def _tell_rest(diagnosis: Diagnosis, only: str | None) -> None:
    """Names the problems for which there is no edit at all."""
    from unslow.report.view.brief import no_edit

    for index, finding in enumerate(diagnosis.findings):
        if finding.fault and index not in diagnosis.fixes and only in (None, finding.cause):
            where = words.led(" at ", line_text(finding.location))
            say(f"{finding.cause}{where}: {finding.title}")
            say(f"  no diff: {no_edit(finding.cause)}")
            if finding.advice:
                say(f"  instead: {finding.advice}")


def _print_briefs(diagnosis: Diagnosis, only: str | None, form: str) -> None:
    import shlex

    from unslow.report import brief
    from unslow.report.view.brief import briefs_of

    rows = [row for row in briefs_of(diagnosis) if only in (None, row["cause"])]
    if form == "json":
        write_json({"folder": diagnosis.run.folder, "briefs": rows})
    elif rows:
        click.echo(brief.dumps(rows, shlex.join(diagnosis.run.command)), nl=False)
    else:
        click.echo("unslow: no brief: every finding has a fix, or there is none", err=True)
