"""One other way to run a script: how it is requested from outside, and the line that keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unslow.facts.json_object import JsonObject

RUNS_EAGERLY = "the updates run eagerly, op by op"
ALREADY_SET = "it is already set"


@dataclass(frozen=True)
class Setting:
    """One other way to run the same script."""

    name: str
    group: str
    switches: JsonObject = field(default_factory=dict)  # of the switches in the training process
    environment: Mapping[str, str] = field(default_factory=dict)
    keep: str = ""  # the line to add
    where: str = ""  # the user's line that it belongs to
    changes: str = ""  # what else is computed: weights are then not compared
    note: str = ""
    why_not: str = ""  # why it cannot apply here, where that is known
    parts: tuple[str, ...] = ()  # of a combination


@dataclass(frozen=True)
class Machine:
    """What decides which settings are worth trying."""

    cores: int
    flags: frozenset[str]  # of the processor
    environment: Mapping[str, str]
    steps: int


def first_reason(*reasons: tuple[object, str]) -> str:
    """The first reason whose condition holds, or nothing."""
    return next((reason for holds, reason in reasons if holds), "")


def combined(name: str, settings: Sequence[Setting]) -> Setting:
    """Several at once; settings of one switch are merged, the later one wins."""
    switches: JsonObject = {}
    environment: dict[str, str] = {}
    for setting in settings:
        for key, value in setting.switches.items():
            merges = isinstance(value, dict)
            switches[key] = {**switches.get(key, {}), **value} if merges else value
        environment.update(setting.environment)
    return Setting(
        name,
        "combined",
        switches,
        environment,
        changes=", ".join(filter(None, (one.changes for one in settings))),
        parts=tuple(setting.name for setting in settings),
    )
