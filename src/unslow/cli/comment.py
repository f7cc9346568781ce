"""`unslow comment`: one comment on the pull request of a CI job."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import click

from unslow.cli.output import format_option, write_json
from unslow.errors import UnslowError, reason_of


@click.command(short_help="Comment on the pull request of a CI job.")
@click.argument("file")
@click.option(
    "--key",
    metavar="TEXT",
    default="",
    help="Which comment, where a pull request has several: for example the command compared.",
)
@click.option("--only-update", is_flag=True, help="Change an earlier comment, but add none.")
@format_option("terminal", "json")
def comment(file: str, key: str, only_update: bool, form: str) -> None:
    """Write the markdown in FILE as a comment, or into the comment of an earlier push.

    For jobs of GitHub Actions (the token in GITHUB_TOKEN) and GitLab CI (in UNSLOW_TOKEN). Both
    set the other variables themselves.
    """
    from unslow.pull_request import server_of, write_comment

    written = write_comment(server_of(os.environ), _text(file), key, only_update)
    if form == "json":
        write_json(asdict(written))
    elif written.action == "none":
        click.echo("no earlier comment, nothing to update")
    else:
        click.echo(f"{written.action} the comment {written.url}".rstrip())


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as problem:
        hint = "Name the file with the comment."
        raise UnslowError(f"cannot read {file}", reason_of(problem), hint, "comment") from None
