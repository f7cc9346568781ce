"""The command line: one file per command, loaded only when it is called."""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

import unslow
from unslow.errors import UnslowError, suggestion
from unslow.facts.json_object import JsonObject

_COMMANDS = {
    "run": "Run a training as it is, record it, and say why it is slow.",
    "attach": "Record a training that already runs, and take everything out again.",
    "env": "Print the variables that make processes of an engine record.",
    "live": "Watch a run from another terminal, while it runs.",
    "watch": "Watch runs for days; say when one slows down, stalls, fills up or ends.",
    "why": "Show the report of a recorded run again.",
    "fix": "Print the fixes as a diff; prove and apply them.",
    "prove": "Run before and after in turn, and measure what a change gains.",
    "whatif": "Measure other settings on the same script, unedited.",
    "check": "Find causes in source, without running it.",
    "explain": "Explain a cause or an error.",
    "compare": "Compare two runs.",
    "comment": "Comment on the pull request of a CI job.",
    "export": "Write a run for TensorBoard, Perfetto, W&B, MLflow and other tools.",
    "runs": "List the recorded runs.",
    "mcp": "Serve these commands to an agent over the Model Context Protocol.",
    "config": "Show the settings in force and where they come from.",
}


class _Lazy(click.Group):
    """`--help` answers without importing any command."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return _command(name) if name in _COMMANDS else None

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = arguments[0]
        if name in _COMMANDS or name.startswith("-"):
            return super().resolve_command(context, arguments)
        hint = suggestion(name, _COMMANDS) or "`unslow --help` lists them."
        if Path(name).is_file():
            hint = f"Record a script with: unslow run {name}"
        raise UnslowError(f"cannot do {name}", "there is no such command", hint, "unknown-name")

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _command(name: str) -> click.Command:
    command: click.Command = getattr(importlib.import_module(f"unslow.cli.{name}"), name)
    return command


def options_of(name: str) -> Collection[str]:
    """The options of a command that a settings file may set."""
    parameters = _command(name).params
    return [each.name or "" for each in parameters if isinstance(each, click.Option)]


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(unslow.__version__, "--version", prog_name="unslow")
@click.pass_context
def cli(context: click.Context) -> None:
    """Why is my TensorFlow training slow?

    \b
    unslow run train.py          record it as it is, and say why it is slow
    unslow fix                   see the fix as a diff in plain TensorFlow
    unslow fix --prove --apply   prove it by running both, then write it

    Exit codes: 0 done, 1 a check found something, 2 unslow could not do it, 130 interrupted.
    `unslow run` exits with the code of the command.
    """
    from unslow.cause import load as causes
    from unslow.settings import Known, load

    known = Known(_COMMANDS, options_of, lambda: [cause.id for cause in causes()[0]])
    context.obj = load(Path.cwd(), known)
    context.default_map = dict(context.obj.commands)


def main(arguments: list[str] | None = None) -> Any:
    """Every expected error is one sentence on stderr, and JSON where JSON was requested."""
    words = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    try:
        return cli(words, standalone_mode=False)
    except UnslowError as problem:
        _fail(problem, words)
    except click.UsageError as problem:
        _fail(_usage_error(problem), words)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except click.Abort:
        click.echo("unslow: interrupted", err=True)
        sys.exit(130)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)


def _fail(problem: UnslowError, words: list[str]) -> None:
    from unslow.cli.output import say

    say(f"unslow: {problem}")
    given = _options(words)
    text = json.dumps(problem.as_json())
    if given.get("form") == "json":
        click.echo(text)
    if words[:1] == ["run"] and given.get("json_path"):
        with contextlib.suppress(OSError):  # the sentence on stderr has been printed
            Path(str(given["json_path"])).write_text(f"{text}\n", encoding="utf-8")
    sys.exit(2)


def _usage_error(problem: click.UsageError) -> UnslowError:
    """What click found wrong with the command line, in the words of all our errors."""
    command = problem.ctx.command_path if problem.ctx else "unslow"
    why, *hint = re.split(r" \(?(?=Did you mean )", problem.format_message().rstrip(")"))
    next_step = hint[0] if hint else _similar_choice(problem)
    what = command.removeprefix("unslow ") if problem.ctx else "the command line"
    return UnslowError(what, why.rstrip("."), next_step or f"Type: {command} --help", "usage")


def _similar_choice(problem: click.UsageError) -> str:
    """`Did you mean tensorboard?` for a value that is none of an option's choices."""
    parameter = getattr(problem, "param", None)
    quoted = re.search(r"'([^']*)' is not one of", problem.format_message())
    if parameter is None or quoted is None or not isinstance(parameter.type, click.Choice):
        return ""
    return suggestion(quoted[1], map(str, parameter.type.choices))


def _options(words: list[str]) -> JsonObject:
    """The options given to our command; those of a recorded script belong to the script."""
    if not words or words[0] not in _COMMANDS:
        return {}
    command = _command(words[0])
    context = click.Context(command, resilient_parsing=True, **command.context_settings)
    context.ignore_unknown_options = True
    return dict(command.make_parser(context).parse_args(words[1:])[0])
