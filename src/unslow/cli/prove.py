"""`unslow prove`: is the changed script faster, with the same results?"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from unslow.cli.show import chosen_run
from unslow.errors import UnslowError


@click.command(short_help="Run before and after in turn, and say what a change brings.")
@click.argument("what", nargs=-1)
@click.option(
    "--diff", "patch", metavar="FILE", help="Prove this patch of the recorded run's files."
)
@click.option(
    "--steps",
    type=click.IntRange(min=5),
    help="Steps per trial (default: about ten seconds' worth).",
)
@click.option(
    "--python", metavar="PATH", help="The Python that has TensorFlow, when two scripts are given."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "json"]),
    default="terminal",
    show_default=True,
)
def prove(
    what: tuple[str, ...], patch: str | None, steps: int | None, python: str | None, form: str
) -> None:
    """Prove a change by running both, interleaved, in fresh processes.

    \b
    unslow prove                      every fix that unslow has for the newest run
    unslow prove RUN                  the same for a run
    unslow prove before.py after.py   two scripts
    unslow prove RUN --diff my.patch  a patch of your own
    """
    from unslow.proof.prove import Question
    from unslow.proof.prove import prove as run_both
    from unslow.proof.trials import Side

    if len(what) == 2:
        from unslow.proof import launch

        before, after = (Side(launch.command_for([name], python), str(Path.cwd())) for name in what)
        proof = run_both(before, after, Question(steps or 200), _progress)
        _show(what[1], proof, form)
        sys.exit(0)
    if len(what) > 2:
        raise click.UsageError("give a run, or two scripts")
    folder = chosen_run(what[0] if what else None)
    if patch:
        from unslow.analyse.run.assemble import load
        from unslow.proof.prove import steps_for
        from unslow.proof.sides import side_of

        run = load(folder)
        texts = _patched(run.sources, Path(patch))
        question = Question(steps or steps_for(run), grows=True)
        proof = run_both(side_of(run, folder), side_of(run, folder, texts), question, _progress)
        _show(patch, proof, form)
        return
    from unslow.cli.fix import prove_all

    for title, proof in prove_all(folder, steps, _progress):
        _show(title, proof, form)


def _progress(text: str) -> None:
    click.echo(f"unslow: {text}", err=True)


def _show(title: str, proof: object, form: str) -> None:
    from dataclasses import asdict

    from unslow.model import Proof

    assert isinstance(proof, Proof)
    if form == "json":
        click.echo(json.dumps({"title": title, **asdict(proof), "verdict": proof.verdict.name}))
    else:
        click.echo(f"{title}\n  {proof.text}")


def _patched(sources: Mapping[str, str], patch: Path) -> dict[str, str]:
    """The recorded sources with a patch applied, by the `patch` program, in a folder of its own."""
    program = shutil.which("patch")
    if program is None:
        raise UnslowError(
            "cannot apply the patch",
            "the program `patch` is not here",
            "Install it.",
            "cannot-prove",
        )
    with tempfile.TemporaryDirectory(prefix="unslow-") as place:
        for file, text in sources.items():
            if not Path(file).is_absolute():
                target = Path(place) / file
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.encode("utf-8", "surrogatepass"))
        done = subprocess.run(
            [program, "-p1", "--quiet", "-i", str(patch.resolve())],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UnslowError(
                f"cannot apply {patch}",
                (done.stdout + done.stderr).strip().replace("\n", " ") or "patch failed",
                "Was it made for the files as they were when the run was recorded?",
                "source-changed",
            )
        found = {}
        for file, text in sources.items():
            if not Path(file).is_absolute():
                now = (Path(place) / file).read_bytes().decode("utf-8", "surrogatepass")
                if now != text:
                    found[file] = now
        return found
