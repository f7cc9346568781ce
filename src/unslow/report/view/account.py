"""The account of a run's seconds as plain data: its stretches, and what each consists of."""

from __future__ import annotations

from unslow.analyse.account import Account
from unslow.analyse.account_parts import Part
from unslow.model import line_text
from unslow.report.words import Row

_VISIBLE = 0.005  # of the run: smaller parts are added up


def account_of(account: Account | None) -> Row | None:
    if account is None:
        return None
    return {
        "seconds": account.seconds,
        "unexplained_seconds": account.unexplained,
        "overlap_seconds": account.overlap,
        "complete": account.complete,
        "stretches": [
            {
                "name": stretch.name,
                "seconds": stretch.seconds,
                "parts": _parts(stretch.parts, _VISIBLE * account.seconds),
            }
            for stretch in account.stretches
        ],
    }


def _parts(parts: tuple[Part, ...], least: float) -> list[Row]:
    shown = [_part(part) for part in parts if part.seconds >= least]
    small = sum(part.seconds for part in parts if part.seconds < least)
    if small > 0:
        shown.append(
            {"name": "small parts", "seconds": small, "kind": "known", "line": "", "cause": ""}
        )
    return shown


def _part(part: Part) -> Row:
    return {
        "name": part.name,
        "seconds": part.seconds,
        "kind": part.kind.value,
        "line": line_text(part.location),
        "cause": part.cause,
    }
