"""Where ops that a method makes at every call can be made once: in the `__init__` of its class."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import above, extent, indent
from unslow.fix.edit.script import Script
from unslow.fix.moves.call_invariance import Needs, own_name, set_by_init
from unslow.fix.moves.op_order import DRAWING_OPS, Place, exists, shifted_seed, withs_around
from unslow.fix.moves.session_feeds import tf_name
from unslow.fix.moves.shapes import method_named, names_in
from unslow.syntax.call_order import Users, calls_reached, first_use, from_here
from unslow.syntax.nodes import NamedFunction, inside, last_name, method_of, parameter_names
from unslow.syntax.uses import uses


def place_in_init(script: Script, function: NamedFunction, needs: Needs) -> Place:
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
        script.refuse_if(tf_name(script, call.func).startswith(DRAWING_OPS), reason, call)


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
        withs = withs_around(script, own)
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
        problem = shifted_seed(source, from_here(source, source.statement_of(call))[1:])
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
        early = exists(script, home, node, owner) or exists(script, home, node, first)
        script.refuse_if(
            not early, f"`{name}` is not surely defined when a `{owner.name}` is made", node
        )
