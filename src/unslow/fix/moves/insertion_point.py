"""Where ops that a function makes at every call can be made once."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from unslow.fix.edit.blocks import above, extent, indent
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_invariance import VARIABLES, Needs, own_name, set_by_init
from unslow.fix.moves.session_feeds import tf_name
from unslow.fix.moves.shapes import method_named, names_in
from unslow.syntax.call_order import Home, Users, calls_reached, first_use, from_here, surely_before
from unslow.syntax.names import is_builtin
from unslow.syntax.nodes import (
    DEFINITIONS,
    NamedFunction,
    inside,
    last_name,
    method_of,
    of_type,
    parameter_names,
)
from unslow.syntax.uses import uses

Frames = Sequence[tuple[int, str]]  # line and function, innermost first
_SESSIONS = ("Session", "InteractiveSession")
_SCOPES = ("name_scope", "variable_scope")
_NEW_GRAPHS = ("Graph", "reset_default_graph")
_OWN_GRAPHS = ("clear_session", "estimator")
_SEEDS = ("set_random_seed", "random.set_random_seed", "random.set_seed")
_DRAWS = (
    *("random", "truncated_normal", "get_variable", "layers.", "keras.", "contrib."),
    *("nn.dropout", "set_random"),
)
_KNOWN_EARLY = (ast.Import, ast.ImportFrom, *DEFINITIONS)
_HARMLESS_MODULES = ("time.", "contextlib.", "threading.")


@dataclass(frozen=True)
class Place:
    """Where lines go in, how deep, and whether what they make is kept as attributes of `own`."""

    offset: int
    margin: str
    own: str | None = None
    gap: bool = False  # two blank lines to a definition that follows


def find_place(script: Script, function: NamedFunction, needs: Needs, frames: Frames) -> Place:
    """The place for what a function makes; CannotEdit where none is surely early enough."""
    if needs.attributes:
        return _in_init(script, function, needs)
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
        if not _exists(script, home, node, place):
            return script.refuse(f"`{name}` is not surely defined before the first call", node)
    around = _context(script, place, frames, home)
    if around is not None:
        reason = "it is made inside a `with` block that may change what is made"
        return script.refuse(reason, around)
    later = from_here(script, place)
    for call in calls_reached(script, later):
        if tf_name(script, call.func) in _NEW_GRAPHS:
            return script.refuse("another graph begins later", call)
    return _shifted_seed(script, later)


def _exists(script: Script, home: Home, node: ast.AST, place: ast.stmt) -> bool:
    """Whether a binding is surely made before a place in a function or module is reached."""
    scope = script.home(node)
    definition = script.statement_of(node)
    if scope is home:
        return isinstance(node, ast.arg) or surely_before(script, definition, place)
    if not isinstance(scope, ast.Module) or isinstance(home, ast.Module):
        return False
    first = first_use(scope, Users(script, home))
    early = surely_before(script, definition, home)
    return early or (first is not None and surely_before(script, definition, first))


def _context(script: Script, place: ast.stmt, frames: Frames, home: Home) -> ast.With | None:
    """A `with` around the calls but not the place that is more than a session or a file."""
    outside = set(script.ancestors(place))
    for line, _ in frames:
        node = script.statement_at(line)
        withs = [owner for owner in _withs_around(script, node) if owner not in outside]
        changing = [owner for owner in withs if not harmless(script, owner)]
        if changing:
            return changing[0]
        if node is not None and script.home(node) is home:
            break
    return None


def _withs_around(script: Script, node: ast.stmt | None) -> list[ast.With]:
    around = [node, *script.ancestors(node)] if node is not None else []
    owners = itertools.takewhile(lambda owner: not isinstance(owner, DEFINITIONS), around)
    return of_type(owners, ast.With)


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


def _shifted_seed(script: Script, later: Sequence[ast.stmt]) -> CannotEdit | None:
    """With a graph seed, an op's seed is its number: earlier ops would shift later ones."""
    seeds = [call for call in script.every(ast.Call) if tf_name(script, call.func) in _SEEDS]
    draws = calls_reached(script, later) if seeds else ()
    for call in draws:
        if tf_name(script, call.func).startswith(_DRAWS) or _draws_elsewhere(script, call):
            what = script.source(call.func)
            return script.refuse(f"`{what}` is made later, and would get another seed", call)
    return None


def _draws_elsewhere(script: Script, call: ast.Call) -> bool:
    """Whether a function or class of another file of the program makes random ops."""
    made = script.callee(call)
    if made is None or made.source is script:
        return False
    calls = inside(made.node, ast.Call)
    return any(tf_name(made.source, inner.func).startswith(_DRAWS) for inner in calls)


def _require_complete_graph(script: Script, first: ast.stmt, whole: ast.Call) -> None:
    adds = (*VARIABLES, "summary.", *_NEW_GRAPHS)
    for call in calls_reached(script, from_here(script, first)):
        minimizes = method_of(call) in ("minimize", "apply_gradients")
        if minimizes or tf_name(script, call.func).startswith(adds):
            what = script.source(whole.func)
            reason = f"`{what}` takes all that the graph holds by then, and this may come later"
            raise script.refuse(reason, call)


# In `__init__`


def _in_init(script: Script, function: NamedFunction, needs: Needs) -> Place:
    owner = script.class_of_method(function)
    assert owner is not None
    init = method_named(owner, "__init__")
    if init is None or own_name(script, init) != own_name(script, function):
        raise script.refuse(f"`{owner.name}` has no `__init__` of the usual form", owner)
    if needs.whole is not None:
        what = script.source(needs.whole.func)
        reason = f"`{what}` takes all that the graph holds by then: more than `__init__` makes"
        raise script.refuse(reason, needs.whole)
    _require_one_kind(script, owner, needs)
    _require_init_runs(script, owner)
    last = _last_statement(script, owner, init, needs)
    _require_names(script, owner, init, needs)
    users = Users(script, function)
    first = next((node for node in init.body if users.among([node])), None)
    if first is not None:
        _require_complete(script, owner, first, needs)
        return Place(above(script, first), indent(script, first), own_name(script, init))
    return Place(extent(script, [last])[1], indent(script, last), own_name(script, init))


def _require_complete(script: Script, owner: ast.ClassDef, first: ast.stmt, needs: Needs) -> None:
    """Raises where ops cannot be made in front of the statement of `__init__` that needs them."""
    block, index = script.block(first)
    for read in needs.attributes.values():
        own = next(store.statement for store in set_by_init(script, read) if store.owner is owner)
        reason = f"`__init__` may call it before it sets `{script.source(read)}`"
        script.refuse_if(own not in block[:index], reason, first)
    for call in calls_reached(script, block[index:]):
        what = script.source(call.func)
        reason = f"`{what}` is made later in `__init__`, and may get another seed"
        script.refuse_if(tf_name(script, call.func).startswith(_DRAWS), reason, call)


def _last_statement(
    script: Script, owner: ast.ClassDef, init: NamedFunction, needs: Needs
) -> ast.stmt:
    """The statement after which all attributes exist."""
    graphs: list[ast.With] = []
    for name, read in needs.attributes.items():
        stores = set_by_init(script, read)
        own = next((store.statement for store in stores if store.owner is owner), None)
        if own is None:
            what = script.source(read)
            reason = f"`{what}` is not set in the `__init__` of `{owner.name}`"
            raise script.refuse(reason, read)
        withs = _withs_around(script, own)
        graphs += [around for around in withs if "as_default" in ast.unparse(around.items[0])]
        reason = f"`{name}` is set outside of the graph that the others are in"
        script.refuse_if(graphs and own.lineno > (graphs[0].end_lineno or 0), reason, own)
    if len(set(graphs)) > 1:
        raise script.refuse("`__init__` makes ops in more than one graph", graphs[0])
    last = (graphs[0] if graphs else init).body[-1]
    script.refuse_if(isinstance(last, ast.Return | ast.Raise), "`__init__` ends with a jump", last)
    return last


def _require_one_kind(script: Script, owner: ast.ClassDef, needs: Needs) -> None:
    """Raises where another object of the class may lack what these ops need."""
    calls = [call for call in script.every(ast.Call) if isinstance(call.func, ast.Name)]
    made = [(script, call) for call in calls if last_name(call.func) == owner.name]
    made += _made_elsewhere(script, owner)
    once = len(made) == 1 and _runs_once(*made[0])
    for name, read in needs.attributes.items():
        script.refuse_if(
            not once and not _is_computed(script, owner, read),
            f"more than one `{owner.name}` may be made, and not each with a `{name}` for these ops",
            read,
        )
    script.refuse_if("__slots__" in names_in(owner), f"`{owner.name}` has `__slots__`", owner)
    for source, call in made:
        problem = _shifted_seed(source, from_here(source, source.statement_of(call))[1:])
        if problem is not None:
            place = f" ({source.path}:{problem.line})"
            raise problem if source is script else script.refuse(problem.reason + place, owner)


def _made_elsewhere(script: Script, owner: ast.ClassDef) -> list[tuple[Script, ast.Call]]:
    """The calls in the program's other files that make an object of a class."""
    return [
        (other, call)
        for other in script.other_files(owner.name)
        for call in other.every(ast.Call)
        if other.is_call_of(call, script, owner)
    ]


def _is_computed(script: Script, owner: ast.ClassDef, read: ast.Attribute) -> bool:
    """Whether `__init__` sets an attribute only to what it computes itself."""
    stores = [store for store in set_by_init(script, read) if store.owner is owner]
    values = [item.assigned for s in stores for item in script.store_bindings(s.store)]
    return bool(values) and all(isinstance(value, ast.Call | ast.BinOp) for value in values)


def _require_init_runs(script: Script, owner: ast.ClassDef) -> None:
    """Raises where a subclass has an `__init__` that may not call this one."""
    for kind in script.every(ast.ClassDef):
        if owner.name not in map(last_name, kind.bases):
            continue
        init = method_named(kind, "__init__")
        calls = inside(init, ast.Call) if init is not None else ()
        if init is not None and not any(method_of(call) == "__init__" for call in calls):
            reason = f"`{kind.name}` is a `{owner.name}` and does not call its `__init__`"
            raise script.refuse(reason, init)
        _require_init_runs(script, kind)


def _runs_once(script: Script, call: ast.Call) -> bool:
    """Whether a call is made at most once, as far as the script itself calls what it stands in."""
    function = script.function_of(call)
    if script.loops_around(call):
        return False
    if function is None:
        return True
    sites = script.possible_calls(function)
    repeated = any(script.loops_around(site) or script.function_of(site) for site in sites)
    return len(sites) < 2 and not repeated and script.class_of_method(function) is None


def _require_names(script: Script, owner: ast.ClassDef, init: NamedFunction, needs: Needs) -> None:
    home = script.home(owner)
    hidden = uses(init.body).writes | parameter_names(init)
    first = first_use(home, Users(script, init)) or owner
    for name, node in needs.names.items():
        script.refuse_if(name in hidden, f"`__init__` has a `{name}` of its own", init)
        early = _exists(script, home, node, owner) or _exists(script, home, node, first)
        script.refuse_if(
            not early, f"`{name}` is not surely defined when a `{owner.name}` is made", node
        )
