"""Durations on the command line: `90`, `90s`, `2m`, `1.5h`."""

from __future__ import annotations

import re

import click

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """`90`, `90s`, `2m` or `1.5h`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a duration; write 90s, 2m or 1h", param, context)
        return float(found[1]) * _UNITS[found[2]]


budget_option = click.option(
    "--budget",
    type=Duration(),
    help="Stop proving after this time (90s, 5m, 1h), with what is known so far.",
)
