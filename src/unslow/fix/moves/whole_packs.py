"""Lets TensorFlow choose how many gradients go into one collective."""

from __future__ import annotations

import ast

from unslow.fix.edit.script import Script
from unslow.fix.moves.call_arguments import keyword_removed
from unslow.syntax.nodes import argument, inside, last_name

_OPTIONS = ("CommunicationOptions", "Hints")
_SIZE = "bytes_per_pack"


def unlimited_packs(script: Script) -> Script:
    """Takes `bytes_per_pack` out of the communication options."""
    given = [
        call
        for call in inside(script.tree, ast.Call)
        if last_name(call.func) in _OPTIONS and argument(call, _SIZE) is not None
    ]
    script.refuse_if(len(given) != 1, f"there is no single call that sets `{_SIZE}`", None)
    return keyword_removed(script, given[0], _SIZE)
