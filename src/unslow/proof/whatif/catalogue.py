"""Every setting there is, by group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from unslow.proof.whatif import graph_settings, host_settings, step_settings
from unslow.proof.whatif.setting import Machine, Setting
from unslow.proof.whatif.survey import Survey

_MAKERS: Mapping[str, Callable[[Survey, Machine], Iterator[Setting]]] = {
    "xla": graph_settings.xla,
    "precision": graph_settings.precision,
    "batch": step_settings.batch,
    "accumulation": step_settings.accumulation,
    "execution": step_settings.execution,
    "threads": host_settings.threads,
    "data": host_settings.data,
    "optimizer": step_settings.optimizer,
    "onednn": graph_settings.onednn,
    "graph": graph_settings.graph,
    "allocator": host_settings.allocator,
    "determinism": graph_settings.determinism,
}
GROUPS = tuple(_MAKERS)


def catalogue(seen: Survey, machine: Machine) -> list[Setting]:
    """Every setting, whether or not it applies here."""
    return [setting for make in _MAKERS.values() for setting in make(seen, machine)]
