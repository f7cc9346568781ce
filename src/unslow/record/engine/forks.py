"""Reports forks of the process. Python keeps a hook on them for ever, so there is one."""

from __future__ import annotations

import os
from collections.abc import Callable

# What runs in a forked child, by who requested it.
in_child: dict[str, Callable[[], object]] = {}


def _forked() -> None:
    for call in list(in_child.values()):
        call()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
