"""Run without XLA what it compiles at too high a cost."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import replaced
from unslow.fix.moves.call_arguments import keyword_removed
from unslow.fix.moves.shapes import DRAWS, calls_of, only
from unslow.syntax.callees import Definition
from unslow.syntax.nodes import argument, is_constant, last_name, method_of

_FLAG = "jit_compile"
_FUNCTION = "tf.function"
_NOISY_LAYERS = ("Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout", "Random")


@dataclass(frozen=True)
class WithoutXla:
    """The edited script, and whether it draws random numbers, which XLA draws differently."""

    script: Script
    draws: bool


def without_xla(script: Script, line: int) -> WithoutXla:
    """Remove `jit_compile=True` from a compiled function or a model."""
    calls = script.calls_at(line)
    found = next(filter(None, (_setting(script, call) for call in calls)), None)
    if found is None:
        raise script.refuse(f"`{_FLAG}` is not set for what this line calls", line)
    return WithoutXla(_taken_off(script, found), _draws(script))


def _setting(script: Script, call: ast.Call) -> ast.Call | None:
    """The call that sets the flag for what a call runs."""
    if method_of(call) == "fit":
        compiles = [each for each in script.every(ast.Call) if method_of(each) == "compile"]
        return only([each for each in compiles if argument(each, _FLAG) is not None])
    match script.definition(call.func):
        case Definition(source=source, node=ast.FunctionDef() as made) if source is script:
            return _flagged(script, made.decorator_list)
    return _flagged(script, script.possible_values(call.func))


def _flagged(script: Script, nodes: Iterable[ast.expr | None]) -> ast.Call | None:
    flagged = [call for call in calls_of(script, nodes, _FUNCTION) if argument(call, _FLAG)]
    return flagged[0] if flagged else None


def _taken_off(script: Script, setting: ast.Call) -> Script:
    value = argument(setting, _FLAG)
    assert value is not None
    if not is_constant(value, True):
        return script.with_value(value, lambda literal: "False")
    is_decorator = isinstance(script.parents[setting], ast.FunctionDef)
    if is_decorator and len(setting.keywords) == 1 and not setting.args:
        return script.edit([replaced(script, setting, script.source(setting.func))])
    return keyword_removed(script, setting, _FLAG)


def _draws(script: Script) -> bool:
    """Whether the file draws random numbers in a graph, as far as it is written there."""
    functions = [call.func for call in script.every(ast.Call)]
    return has_noisy_layer(script) or any(
        script.name(function).startswith(DRAWS) for function in functions
    )


def has_noisy_layer(script: Script) -> bool:
    """Whether the file makes a layer that draws random numbers while it trains."""
    functions = [call.func for call in script.every(ast.Call)]
    return any(last_name(function).startswith(_NOISY_LAYERS) for function in functions)
