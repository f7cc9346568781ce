"""Where ops that a function makes at every call can be made once."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress

from unslow.fix.edit.blocks import above, extent, indent
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_invariance import VARIABLES, Needs
from unslow.fix.moves.insertion_in_init import place_in_init
from unslow.fix.moves.op_order import Place, exists, shifted_seed, withs_around
from unslow.fix.moves.session_feeds import tf_name
from unslow.syntax.call_order import Home, Users, calls_reached, first_use, from_here
from unslow.syntax.names import is_builtin
from unslow.syntax.nodes import (
    DEFINITIONS,
    NamedFunction,
    method_of,
)

Frames = Sequence[tuple[int, str]]  # line and function, innermost first
_SESSIONS = ("Session", "InteractiveSession")
_SCOPES = ("name_scope", "variable_scope")
_NEW_GRAPHS = ("Graph", "reset_default_graph")
_OWN_GRAPHS = ("clear_session", "estimator")
_KNOWN_EARLY = (ast.Import, ast.ImportFrom, *DEFINITIONS)
_HARMLESS_MODULES = ("time.", "contextlib.", "threading.")


def find_place(script: Script, function: NamedFunction, needs: Needs, frames: Frames) -> Place:
    """The place for what a function makes; CannotEdit where none is surely early enough."""
    if needs.attributes:
        return place_in_init(script, function, needs)
    home = script.home(function)
    top = script.class_of_method(function) or function
    if needs.whole is None and _obstacle(script, home, top, needs, frames) is None:
        return _behind_the_last(script, top)
    first = first_use(home, Users(script, function))
    problem = _obstacle(script, home, first or top, needs, frames)
    if problem is not None:
        raise problem
    if first is None:
        raise script.refuse("nothing in this file leads to its first call", function)
    if needs.whole is not None:
        _require_complete_graph(script, first, needs.whole)
    return Place(above(script, first), indent(script, first))


def at_first_call(script: Script, function: NamedFunction, needs: Needs) -> Place | None:
    """The place for globals that the first call of a function fills; None where others are needed.

    What is made of the module's own values can be made where these are.
    """
    made = [node for node in needs.names.values() if not isinstance(node, _KNOWN_EARLY)]
    if made or needs.attributes or not isinstance(script.home(function), ast.Module):
        return None
    what = needs.whole
    script.refuse_if(what, "it takes all that the graph holds by then", what)
    for name in (*_NEW_GRAPHS, *_OWN_GRAPHS):
        for file in (script, *script.other_files(name)):
            for call in file.every(ast.Call):
                if name in tf_name(file, call.func).split("."):
                    place = f"{file.path}:{call.lineno}"
                    raise script.refuse(f"the program may use another graph ({place})", function)
    return _behind_the_last(script, script.class_of_method(function) or function)


def _behind_the_last(script: Script, top: ast.stmt) -> Place:
    """After the plain statement before a definition, so that the gap stays."""
    block, index = script.block(top)
    before = block[index - 1] if index else top
    if not isinstance(before, DEFINITIONS):
        with suppress(CannotEdit):  # it shares its line with others
            return Place(extent(script, [before])[1], indent(script, top))
    at_top = isinstance(script.parents[top], ast.Module)
    return Place(above(script, top), indent(script, top), gap=at_top)


def _obstacle(
    script: Script, home: Home, place: ast.stmt, needs: Needs, frames: Frames
) -> CannotEdit | None:
    """Why ops cannot be made in front of a statement."""
    for name, node in needs.names.items():
        if not exists(script, home, node, place):
            return script.refuse(f"`{name}` is not surely defined before the first call", node)
    around = _context(script, place, frames, home)
    if around is not None:
        reason = "it is made inside a `with` block that may change what is made"
        return script.refuse(reason, around)
    later = from_here(script, place)
    for call in calls_reached(script, later):
        if tf_name(script, call.func) in _NEW_GRAPHS:
            return script.refuse("another graph begins later", call)
    return shifted_seed(script, later)


def _context(script: Script, place: ast.stmt, frames: Frames, home: Home) -> ast.With | None:
    """A `with` around the calls but not the place that is more than a session or a file."""
    outside = set(script.ancestors(place))
    for line, _ in frames:
        node = script.statement_at(line)
        withs = [owner for owner in withs_around(script, node) if owner not in outside]
        changing = [owner for owner in withs if not harmless(script, owner)]
        if changing:
            return changing[0]
        if node is not None and script.home(node) is home:
            break
    return None


def harmless(script: Script, node: ast.With) -> bool:
    """Whether ops made in a `with` differ from others by their names only."""
    return all(_is_harmless(script, item.context_expr) for item in node.items)


def _is_harmless(script: Script, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name, used = tf_name(script, node.func), script.name(node.func)
    if name in _SESSIONS:
        return plain_session(node)
    return name in _SCOPES or is_builtin(used) or used.startswith(_HARMLESS_MODULES)


def plain_session(node: ast.Call) -> bool:
    """Whether a session is made without a graph of its own."""
    return not node.args and all(word.arg not in ("graph", None) for word in node.keywords)


def _require_complete_graph(script: Script, first: ast.stmt, whole: ast.Call) -> None:
    adds = (*VARIABLES, "summary.", *_NEW_GRAPHS)
    for call in calls_reached(script, from_here(script, first)):
        minimizes = method_of(call) in ("minimize", "apply_gradients")
        if minimizes or tf_name(script, call.func).startswith(adds):
            what = script.source(whole.func)
            reason = f"`{what}` takes all that the graph holds by then, and this may come later"
            raise script.refuse(reason, call)
