"""Applies settings of `unslow whatif` from outside, through TensorFlow's and Keras's own switches.

In a first run, nothing is asked for: each switch then only tells whether the script reaches it.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil

from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Recorder
from unslow.record.engine.steps import Steps
from unslow.record.engine.watcher import Watcher
from unslow.record.trial.whatif.switch import Switch

ASKED = "UNSLOW_WHATIF"


def switches(recorder: Recorder, steps: Steps, watcher: Watcher) -> list[Probe]:
    """Every switch of this package with what is asked for; none outside `unslow whatif`."""
    text = os.environ.get(ASKED)
    if not text:
        return []
    asked = json.loads(text)
    found: list[Probe] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        for kind in vars(module).values():
            is_switch = isinstance(kind, type) and issubclass(kind, Switch) and kind is not Switch
            if is_switch and kind.__module__ == module.__name__:
                found.append(kind(asked, recorder, steps, watcher))
    return found
