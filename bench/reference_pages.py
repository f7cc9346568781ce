"""The reference pages that are generated: every command from click, the Python API from its docstrings."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from types import ModuleType

import click

import unslow
from unslow.cli import cli
from unslow.model import Diagnosis, Evidence, Finding, Fix, Location, Loop, Proof, Refusal, Run
from unslow.pytest_plugin import Recorded

_WIDTH = 96  # columns of --help: fits a page without a scroll bar
_CLASSES = (Run, Loop, Diagnosis, Finding, Evidence, Location, Fix, Refusal, Proof)


def cli_page() -> str:
    """`--help` of unslow and of every command, as it is printed."""
    parts = [
        "# Every command and option",
        "What `--help` prints. How to use them: [the pages of each command](../howto/run.md); exit codes "
        "and JSON: [for scripts](../commands.md).",
        _help(cli, "unslow"),
    ]
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        parts += [f"## `unslow {name}`", _help(command, f"unslow {name}")]
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command, name: str) -> str:
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    settings["help_option_names"] = ["-h", "--help"]
    context = click.Context(command, info_name=name, **settings)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"```text\n{text}\n```"


def api_page() -> str:
    """What `import unslow` offers, and the classes that it hands out."""
    record: ModuleType = unslow.record
    parts = [
        "# Python API",
        "```python\nimport unslow\n\nwith unslow.record(report=False) as folder:\n    model.fit(x, y)\n\n"
        "diagnosis = unslow.why(folder)\nfor finding in diagnosis.findings:\n"
        "    print(finding.cause, finding.location, finding.seconds)\n```",
        "All seconds are floats, all bytes are bytes. Shares are of the time in training steps. Names that are not on this "
        "page may change.",
        "## Functions",
        _function("unslow.record", type(record).__call__),
        _function("unslow.why", unslow.why),
        "## In pytest",
        "The fixture `unslow_record` and the marker `@pytest.mark.unslow(max_step=…, no=[…])` come with the package; see "
        "[in continuous integration](../questions/in-ci.md). `with unslow_record() as recorded:` gives a",
        _class(Recorded),
        "## Classes",
        *(_class(each) for each in _CLASSES),
    ]
    return "\n\n".join(parts) + "\n"


def _function(name: str, function: object) -> str:
    assert callable(function)
    signature = str(inspect.signature(function)).replace("(self, ", "(").replace("'", "")
    return f"### `{name}`\n\n```python\n{name}{signature}\n```\n\n{_words(function)}"


def _class(kind: type) -> str:
    parts = [f"### `{kind.__name__}`", _words(kind)]
    rows = [
        f"| `{field.name}` | `{field.type}` |"
        for field in (dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ())
        if not field.name.startswith("_")
    ]
    if rows:
        parts.append(
            "\n".join(["| field | type |", "|---|---|", *rows]).replace(" | None", " or None")
        )
    methods = [_method(name, each) for name, each in vars(kind).items() if not name.startswith("_")]
    parts += [text for text in methods if text]
    return "\n\n".join(parts)


def _method(name: str, each: object) -> str:
    function = getattr(each, "fget", None) or getattr(each, "func", None) or each
    if not inspect.isfunction(function) or not function.__doc__ or isinstance(each, enum.Enum):
        return ""
    is_value = function is not each  # a property
    called = "" if is_value else str(inspect.signature(function)).replace("'", "")
    called = called.replace("(self, ", "(").replace("(self)", "()")
    return f"- `{name}{called}`: {_words(function)}"


def _words(thing: object) -> str:
    return inspect.cleandoc(getattr(thing, "__doc__", None) or "")
