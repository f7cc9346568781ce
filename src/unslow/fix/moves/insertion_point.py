"""Where ops that a function makes at every call can be made once: in its class's `__init__`, or before its calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from unslow.fix.edit.blocks import above, extent, indent
from unslow.fix.edit.script import CannotEdit, Script
from unslow.fix.moves.call_invariance import VARIABLES, Needs, births, own_name
from unslow.fix.moves.call_order import (
    Home,
    Users,
    first_use,
    from_here,
    home_of,
    reached,
    surely_before,
)
from unslow.fix.moves.captured_values import call_sites
from unslow.fix.moves.session_feeds import tf_name
from unslow.syntax.names import is_builtin
from unslow.syntax.nodes import NAMED_FUNCTIONS, NamedFunction, last_name, parameter_names
from unslow.syntax.uses import uses

_SCOPES = frozenset({"name_scope", "variable_scope"})
_DRAWS = (
    "random",
    "truncated_normal",
    "get_variable",
    "layers.",
    "keras.",
    "contrib.",
    "nn.dropout",
    "set_random",
)


@dataclass(frozen=True)
class Place:
    """Where lines go in, how deep, and whether what they make is kept as attributes of `own`."""

    offset: int
    margin: str
    own: str | None = None
    gap: bool = False  # two blank lines to a definition that follows


def find_place(
    script: Script,
    function: NamedFunction,
    needs: Needs,
    frames: Sequence[tuple[int, str]],
    caller: NamedFunction | None,
) -> Place:
    """The place for what a function makes; raises CannotEdit where there is none that is surely early enough.

    A `caller` holds what the ops are made of: only there can they be made.
    """
    if needs.attributes and caller is not None:
        raise script.refuse(f"its ops need attributes, and names of `{caller.name}` too", function)
    if needs.attributes:
        return _at_birth(script, function, needs)
    return _before_calls(script, function, needs, frames, caller)


# In front of the function, or of what leads to its first call


def _before_calls(
    script: Script,
    function: NamedFunction,
    needs: Needs,
    frames: Sequence[tuple[int, str]],
    caller: NamedFunction | None,
) -> Place:
    home = caller or home_of(script, function)
    owner = script.parents[function]
    top = owner if isinstance(owner, ast.ClassDef) else function
    first = first_use(home, Users(script, function))
    if needs.whole is None and caller is None and _fits(script, home, top, needs, frames) is None:
        return _behind_the_last(script, top)
    if first is None:
        late = _fits(script, home, top, needs, frames)
        raise late or script.refuse("nothing in this file leads to its first call", function)
    problem = _fits(script, home, first, needs, frames)
    if problem is not None:
        raise problem
    if needs.whole is not None:
        _nothing_to_come(script, first, needs.whole)
    return Place(above(script, first), indent(script, first))


def _behind_the_last(script: Script, top: ast.stmt) -> Place:
    """Behind the plain statement in front of a definition, so that the definition keeps its distance."""
    block, index = script.block(top)
    before = block[index - 1] if index else None
    if before is not None and not isinstance(before, (*NAMED_FUNCTIONS, ast.ClassDef)):
        with suppress(CannotEdit):  # it shares its line with others
            return Place(extent(script, [before])[1], indent(script, top))
    return Place(
        above(script, top), indent(script, top), gap=isinstance(script.parents[top], ast.Module)
    )


def _fits(
    script: Script, home: Home, place: ast.stmt, needs: Needs, frames: Sequence[tuple[int, str]]
) -> CannotEdit | None:
    """Why ops cannot be made in front of a statement."""
    for name, node in needs.names.items():
        if not _exists(script, home, node, place):
            return script.refuse(f"`{name}` is not surely defined before the first call", node)
    around = _context(script, place, frames, home)
    if around is not None:
        return script.refuse(
            "it is made inside a `with` block that may change what is made", around
        )
    later = from_here(script, place)
    for call in reached(script, later):
        if isinstance(call, ast.Call) and tf_name(script, call.func) in (
            "Graph",
            "reset_default_graph",
        ):
            return script.refuse("another graph begins later", call)
    return _disturbed(script, later)


def _exists(script: Script, home: Home, node: ast.AST, place: ast.stmt) -> bool:
    scope = next(
        (
            owner
            for owner in script.ancestors(node)
            if isinstance(owner, (ast.Module, *NAMED_FUNCTIONS))
        ),
        None,
    )
    if scope is home:
        return isinstance(node, ast.arg) or surely_before(script, script.statement_of(node), place)
    if not isinstance(scope, ast.Module) or isinstance(home, ast.Module):
        return False
    definition = script.statement_of(node)
    first = first_use(scope, Users(script, home))
    early = surely_before(script, definition, home)
    return early or (first is not None and surely_before(script, definition, first))


def _context(
    script: Script, place: ast.stmt, frames: Sequence[tuple[int, str]], home: Home
) -> ast.With | None:
    """A `with` that is around the calls, but not around the place, and is more than a session or a file."""
    outside = set(script.ancestors(place))
    for line, _ in frames:
        node = script.statement_at(line)
        if node is None:
            continue
        for owner in (node, *script.ancestors(node)):
            if isinstance(owner, (*NAMED_FUNCTIONS, ast.ClassDef)):
                break
            if isinstance(owner, ast.With) and owner not in outside and not harmless(script, owner):
                return owner
        if script.function_of(node) is (None if isinstance(home, ast.Module) else home):
            break
    return None


def harmless(script: Script, node: ast.With) -> bool:
    """Whether ops made inside a `with` are the same as those made outside of it, but for their names."""
    return all(_harmless_item(script, item.context_expr) for item in node.items)


def _harmless_item(script: Script, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = tf_name(script, node.func)
    if name in ("Session", "InteractiveSession"):
        return not node.args and all(word.arg not in ("graph", None) for word in node.keywords)
    if name is not None:
        return name in _SCOPES
    used = script.name(node.func)
    return is_builtin(used) or used.startswith(("time.", "contextlib.", "threading."))


def _disturbed(script: Script, later: Iterable[ast.stmt]) -> CannotEdit | None:
    """With a seed for the whole graph, each op's own seed is its number: ops made earlier would shift later ones."""
    names = [tf_name(script, call.func) or "" for call in script.every(ast.Call)]
    if not any(
        name in ("set_random_seed", "random.set_random_seed", "random.set_seed") for name in names
    ):
        return None
    for node in reached(script, later):
        if isinstance(node, ast.Call) and (tf_name(script, node.func) or "").startswith(_DRAWS):
            return script.refuse(
                f"`{script.source(node.func)}` is made later, and would get another seed", node
            )
    return None


def _nothing_to_come(script: Script, first: ast.stmt, whole: ast.Call) -> None:
    for node in reached(script, from_here(script, first)):
        name = tf_name(script, node.func) if isinstance(node, ast.Call) else None
        makes = name is not None and name.startswith(
            (*VARIABLES, "summary.", "Graph", "reset_default_graph")
        )
        if makes or (
            isinstance(node, ast.Call) and last_name(node.func) in ("minimize", "apply_gradients")
        ):
            what = script.source(whole.func)
            raise script.refuse(
                f"`{what}` takes all that the graph holds by then, and this may come later", node
            )


# In `__init__`


def _at_birth(script: Script, function: NamedFunction, needs: Needs) -> Place:
    owner = script.parents[function]
    assert isinstance(owner, ast.ClassDef)
    init = next(
        (
            node
            for node in owner.body
            if isinstance(node, NAMED_FUNCTIONS) and node.name == "__init__"
        ),
        None,
    )
    if init is None or own_name(script, init) != own_name(script, function):
        raise script.refuse(f"`{owner.name}` has no `__init__` of the usual form", owner)
    if needs.whole is not None:
        what = script.source(needs.whole.func)
        raise script.refuse(
            f"`{what}` takes all that the graph holds by then: more than `__init__` makes",
            needs.whole,
        )
    _one_kind(script, owner, needs)
    _no_other_birth(script, owner)
    last = _last_place(script, owner, init, needs)
    users = Users(script, function)
    if users.among(init.body):
        raise script.refuse(
            f"`__init__` may call `{function.name}` before its ops can be made", init
        )
    _names_exist(script, owner, init, needs)
    own = own_name(script, init)
    return Place(extent(script, [last])[1], indent(script, last), own)


def _last_place(script: Script, owner: ast.ClassDef, init: NamedFunction, needs: Needs) -> ast.stmt:
    """The statement behind which all attributes exist: the last one, or the last of a `with graph.as_default()`."""
    blocks: list[ast.With] = []
    for name, read in needs.attributes.items():
        statement = next(
            (birth.statement for birth in births(script, read) if birth.owner is owner), None
        )
        if statement is None:
            raise script.refuse(
                f"`{script.source(read)}` is not set in the `__init__` of `{owner.name}`", read
            )
        graphs = [around for around in script.ancestors(statement) if isinstance(around, ast.With)]
        blocks += [around for around in graphs if "as_default" in ast.unparse(around.items[0])]
        if blocks and statement.lineno > (blocks[0].end_lineno or 0):
            raise script.refuse(
                f"`{name}` is set outside of the graph that the others are in", statement
            )
    if any(block is not blocks[0] for block in blocks):
        raise script.refuse("`__init__` makes ops in more than one graph", blocks[0])
    last = (blocks[0] if blocks else init).body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        raise script.refuse("`__init__` ends with a jump", last)
    return last


def _one_kind(script: Script, owner: ast.ClassDef, needs: Needs) -> None:
    """Raises where another object of the class may be given something that these ops cannot be made of."""
    sites = [
        call
        for call in script.every(ast.Call)
        if isinstance(call.func, ast.Name) and call.func.id == owner.name
    ]
    once = len(sites) == 1 and _runs_once(script, sites[0])
    for name, read in needs.attributes.items():
        for birth in births(script, read):
            made = script.parents[birth.store]
            value = (
                made.value
                if isinstance(made, ast.Assign) and made.targets == [birth.store]
                else None
            )
            if birth.owner is owner and not once and not isinstance(value, ast.Call | ast.BinOp):
                reason = f"more than one `{owner.name}` may be made, and not each with a `{name}` for these ops"
                raise script.refuse(reason, read)
    if any(isinstance(node, ast.Name) and node.id == "__slots__" for node in ast.walk(owner)):
        raise script.refuse(f"`{owner.name}` has `__slots__`", owner)
    for site in sites:
        problem = _disturbed(script, from_here(script, script.statement_of(site))[1:])
        if problem is not None:
            raise problem


def _no_other_birth(script: Script, owner: ast.ClassDef) -> None:
    """Raises where a class that builds on this one has an `__init__` that may do without this one's."""
    for kind in ast.walk(script.tree):
        if not isinstance(kind, ast.ClassDef) or not any(
            last_name(base) == owner.name for base in kind.bases
        ):
            continue
        for init in kind.body:
            if isinstance(init, NAMED_FUNCTIONS) and init.name == "__init__":
                calls = [node for node in ast.walk(init) if isinstance(node, ast.Call)]
                if not any(
                    isinstance(c.func, ast.Attribute) and c.func.attr == "__init__" for c in calls
                ):
                    raise script.refuse(
                        f"`{kind.name}` is a `{owner.name}` and does not call its `__init__`", init
                    )
        _no_other_birth(script, kind)


def _runs_once(script: Script, call: ast.Call) -> bool:
    """Whether a call is made at most once, as far as the script itself calls what it stands in."""
    function = script.function_of(call)
    if script.loops_around(call) or (
        function is not None and isinstance(script.parents[function], ast.ClassDef)
    ):
        return False
    sites = call_sites(script, function) if function is not None else []
    return len(sites) < 2 and all(
        not script.loops_around(site) and script.function_of(site) is None for site in sites
    )


def _names_exist(script: Script, owner: ast.ClassDef, init: NamedFunction, needs: Needs) -> None:
    home = home_of(script, owner)
    hidden = uses(init.body).writes | parameter_names(init)
    first = first_use(home, Users(script, init))
    for name, node in needs.names.items():
        if name in hidden:
            raise script.refuse(f"`__init__` has a `{name}` of its own", init)
        if not _exists(script, home, node, owner) and not (
            first is not None and _exists(script, home, node, first)
        ):
            raise script.refuse(
                f"`{name}` is not surely defined when a `{owner.name}` is made", node
            )
