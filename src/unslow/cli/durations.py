"""Durations on the command line: `90`, `90s`, `2m`, `1.5h`; and `--until known:5m`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from unslow.live.known import STABLE

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_NUMBER = r"(\d+(?:\.\d+)?)([smh]?)"
_UNTIL_HELP = (
    "Record in detail only until the verdict has been the same for a time (60 s, or as in "
    "`known:5m`), then at the lowest rate."
)


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """`90`, `90s`, `2m` or `1.5h`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        found = re.fullmatch(_NUMBER, str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a duration; write 90s, 2m or 1h", param, context)
        return float(found[1]) * _UNITS[found[2]]


class Until(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """`known`, or `known:5m`; seconds for which the verdict must be the same."""

    name = "known[:TIME]"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(f"known(?::{_NUMBER})?", str(value).strip())
        if found is None:
            self.fail(f"{value!r}: write known, or known:5m", param, context)
        return float(found[1]) * _UNITS[found[2]] if found[1] else STABLE


def until_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--until", type=Until(), help=_UNTIL_HELP)(command)


budget_option = click.option(
    "--budget",
    type=Duration(),
    help="Stop proving after this time (90s, 5m, 1h), with what is known so far.",
)
