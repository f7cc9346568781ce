"""`unslow prove`: is the changed script faster, with the same results?"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from unslow.cli.durations import budget_option
from unslow.cli.options import takes
from unslow.cli.output import format_option, progress, say, write_json
from unslow.cli.recorded import chosen_run, settings
from unslow.errors import UnslowError
from unslow.model import Fix, Proof
from unslow.settings.ignores import without_ignored

_LONGEST_PATCH = 60.0  # seconds; a patch of a thousand files takes one
_STEPS = 200  # of two scripts that were never recorded


@dataclass(frozen=True)
class _Options:
    """What to prove, and how long to try."""

    what: tuple[str, ...]
    patch: str | None
    steps: int | None
    python: str | None
    budget: float | None
    form: str


@click.command(short_help="Run before and after in turn, and measure what a change gains.")
@click.argument("what", nargs=-1)
@click.option(
    "--diff", "patch", metavar="FILE", help="Prove this patch of the recorded run's files."
)
@click.option(
    "--steps", type=click.IntRange(min=5), help="Steps per trial (default: about ten seconds)."
)
@click.option(
    "--python", metavar="PATH", help="The Python that has TensorFlow, when two scripts are given."
)
@budget_option
@format_option("terminal", "json")
@takes(_Options)
def prove(options: _Options) -> None:
    """Prove a change by running both, interleaved, in fresh processes.

    \b
    unslow prove                      every fix that unslow has for the newest run
    unslow prove RUN                  the same for a run
    unslow prove before.py after.py   two scripts
    unslow prove RUN --diff my.patch  a patch of your own
    """
    _show(_proofs(options), options.form)


def _proofs(options: _Options) -> Iterable[tuple[str, Proof]]:
    limits = _Limits(options.steps, options.budget)
    match options.what:
        case (before, after):
            return [_of_scripts(before, after, limits, options.python)]
        case (_, _, _, *_):
            raise click.UsageError("give a run, or two scripts")
    folder = chosen_run(options.what[0] if options.what else None)
    if options.patch:
        return [_of_patch(folder, options.patch, limits)]
    return _of_fixes(folder, limits)


@dataclass(frozen=True)
class _Limits:
    """How long to try."""

    steps: int | None  # per trial
    seconds: float | None  # in all


def _of_scripts(before: str, after: str, limits: _Limits, python: str | None) -> tuple[str, Proof]:
    from unslow.proof.budget import Budget
    from unslow.proof.command import command_for
    from unslow.proof.prove import prove as run_both
    from unslow.proof.question import Question
    from unslow.proof.trials import Side

    here = str(Path.cwd())
    one, other = (Side(command_for([name], python), here) for name in (before, after))
    question = Question(limits.steps or _STEPS, budget=Budget(limits.seconds))
    return after, run_both(one, other, question, progress)


def _of_patch(folder: str, patch: str, limits: _Limits) -> tuple[str, Proof]:
    from unslow.analyse.run.assemble import load
    from unslow.proof.budget import Budget
    from unslow.proof.prove import prove as run_both
    from unslow.proof.question import Question, steps_for
    from unslow.proof.sides import side_of

    run = load(folder)
    texts = patched(run.sources, Path(patch))
    question = Question(limits.steps or steps_for(run), budget=Budget(limits.seconds))
    return patch, run_both(side_of(run, folder), side_of(run, folder, texts), question, progress)


def _of_fixes(folder: str, limits: _Limits) -> Iterator[tuple[str, Proof]]:
    """Each fix of a run on top of those before it; some may share one proof."""
    from unslow.cli.show import diagnosis_of
    from unslow.proof.budget import Budget
    from unslow.proof.fixing import Wanted, proved

    wanted = Wanted(steps=limits.steps, budget=Budget(limits.seconds))
    diagnosis = without_ignored(diagnosis_of(folder), settings())[0]
    any_fix = False
    for outcome in proved(diagnosis, folder, wanted, progress):
        if outcome.proof is None:
            continue
        any_fix = True
        finding, fix = outcome.step.finding, outcome.step.fix
        assert isinstance(fix, Fix)
        yield f"{finding.cause} at {finding.location}: {fix.title}", outcome.proof
    if not any_fix:
        raise UnslowError(
            "nothing to prove",
            f"unslow has no automatic fix for {folder}",
            "Give two scripts, or a patch with --diff.",
            "no-fix",
        )


def _show(proofs: Iterable[tuple[str, Proof]], form: str) -> None:
    from unslow.cli.fix import proof_row

    rows = []
    for title, proof in proofs:
        rows.append({"title": title, **proof_row(proof)})
        if form == "terminal":
            say(f"{title}\n  {proof.text}", err=False)
    if form == "json":
        write_json({"proofs": rows})


def patched(sources: Mapping[str, str], patch: Path) -> dict[str, str]:
    """The recorded sources with a patch applied, by the `patch` program, in a temporary folder."""
    if not patch.is_file():
        raise UnslowError(f"cannot apply {patch}", "there is no such file", "", "cannot-prove")
    own = {file: text for file, text in sources.items() if _lies_below(file)}
    with tempfile.TemporaryDirectory(prefix="unslow-") as place:
        for file, text in own.items():
            target = Path(place) / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8", "surrogatepass"))
        _apply(patch, place)
        now = {file: _text(Path(place) / file, patch) for file in own}
    return {file: text for file, text in now.items() if text != own[file]}


def _text(file: Path, patch: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "surrogatepass")
    except FileNotFoundError:
        why = f"it deletes or renames {file.name}"
    except ValueError:
        why = f"it leaves {file.name} with bytes that are no UTF-8"
    hint = "A patch may only change the text of recorded files."
    raise UnslowError(f"cannot apply {patch}", why, hint, "cannot-prove")


def _lies_below(file: str) -> bool:
    """Whether a recorded file lies below the working directory."""
    path = Path(file)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in file


def _apply(patch: Path, place: str) -> None:
    program = shutil.which("patch")
    if program is None:
        why = "the program `patch` is not installed"
        raise UnslowError("cannot apply the patch", why, "Install it.", "cannot-prove")
    done = subprocess.run(
        [program, "-p1", "--quiet", "-i", str(patch.resolve())],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_LONGEST_PATCH,
        check=False,
    )
    if done.returncode:
        raise UnslowError(
            f"cannot apply {patch}",
            (done.stdout + done.stderr).strip().replace("\n", " ") or "patch failed",
            "Was it made for the files as they were when the run was recorded?",
            "source-changed",
        )
