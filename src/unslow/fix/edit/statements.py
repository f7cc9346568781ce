"""Moves on statements and plain expressions: put in, take out, replace, import."""

from __future__ import annotations

import ast

from unslow.fix.edit.blocks import (
    above,
    at_end,
    extent,
    indent,
    laid_out,
    removal,
    statement,
    unit,
)
from unslow.fix.edit.lines import Splice
from unslow.fix.edit.script import CannotEdit, Script
from unslow.syntax.nodes import first_line, header

# Expressions that need no parentheses anywhere.
_ATOMS = (
    *(ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set),
)
_USUAL = {"tf": ("tensorflow", "tf"), "numpy": ("numpy", "np")}  # module and alias


def delete(script: Script, line: int) -> Script:
    """Delete the statement at a line; an empty block gets `pass`."""
    if script.gone(line):
        return script
    return script.edit([removal(script, [statement(script, line)])])


def insert_before(script: Script, line: int, code: str) -> Script:
    """Puts our own code (four spaces a level) in front of the statement at a line."""
    node = statement(script, line)
    block, index = script.block(node)
    if _says(block[:index][-_length(code) :], code):
        return script
    extent(script, [node])
    text = laid_out(script, code, indent(script, node), unit(script, node))
    position = above(script, node)
    return script.edit([Splice(position, position, text)])


def insert_after(script: Script, line: int, code: str) -> Script:
    """Insert our own code (four spaces a level) after the whole statement at a line."""
    node = statement(script, line)
    block, index = script.block(node)
    if _says(block[index + 1 :][: _length(code)], code):
        return script
    position = extent(script, [node])[1]
    text = laid_out(script, code, indent(script, node), unit(script, node))
    return script.edit([at_end(script, position, text)])


def _length(code: str) -> int:
    return len(ast.parse(code).body)


def _says(body: list[ast.stmt], code: str) -> bool:
    return [ast.dump(node) for node in body] == [ast.dump(node) for node in ast.parse(code).body]


def find_expression(script: Script, line: int, expression: str) -> list[ast.expr]:
    """The places in the statement at a line where an expression stands, however it is laid out."""
    wanted = ast.dump(ast.parse(expression, mode="eval").body)
    return [
        node
        for node in header(statement(script, line))
        if isinstance(node, ast.expr) and ast.dump(node) == wanted
    ]


def replace_expression(script: Script, line: int, old: str, new: str) -> Script:
    """Every place of an expression in the statement at a line gives way to another one."""
    found = find_expression(script, line, old)
    if not found:
        if find_expression(script, line, new):
            return script
        raise CannotEdit(f"`{old}` is not on line {line}", line)
    node = ast.parse(new, mode="eval").body
    # Where the new expression holds the old one, a second pass would find it again: it is done
    # already.
    holds = any(ast.dump(inner) == ast.dump(found[0]) for inner in ast.walk(node))
    if holds and find_expression(script, line, new):
        return script
    return script.edit([replaced(script, place, new) for place in found])


def replaced(script: Script, place: ast.expr, new: str) -> Splice:
    """Replace an expression's text, with parentheses where precedence needs them."""
    start, end = script.span(place)
    atom = isinstance(ast.parse(new, mode="eval").body, _ATOMS)
    parent = script.parents[place]
    alone = isinstance(parent, ast.Assign | ast.Expr | ast.keyword | ast.List | ast.Return) or (
        isinstance(parent, ast.Call) and place in parent.args
    )
    bare = atom or alone or script.lines.text[start:end].startswith("(")
    if isinstance(place, ast.GeneratorExp) and isinstance(script.parents[place], ast.Call):
        raise script.refuse("a bare generator argument is left alone", place)
    return Splice(start, end, new if bare else f"({new})")


def spelling(script: Script, name: str, at: ast.AST | None = None) -> tuple[str, list[Splice]]:
    """A dotted name such as `tf.constant` as the user writes it, with the import that it lacks."""
    found = script.alias(name, at)
    if found is not None:
        return found, []
    module, _, rest = name.partition(".")
    top, edits = script.alias(module), []
    if top is None:
        top, made = _import(script, module)
        edits = [made]
    return f"{top}.{rest}" if rest else top, edits


def spelled(script: Script, name: str, at: ast.AST | None = None) -> tuple[Script, str]:
    """As `spelling`, with the import made: what was found in the script must be found again."""
    found, edits = spelling(script, name, at)
    return (script.edit(edits) if edits else script), found


def _import(script: Script, module: str) -> tuple[str, Splice]:
    """The import of a module at the top of a script, and how the module is spelled then."""
    module, usual = _USUAL.get(module, (module, module))
    name = usual if script.fresh(usual) == usual else module
    line = f"import {module} as {name}" if name != module else f"import {module}"
    body = script.tree.body
    last: ast.stmt | None = None
    for node in body:
        docstring = (
            node is body[0] and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        if not docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        last = node
    if last is not None:
        position = script.lines.stop(last.end_lineno or last.lineno)
    else:
        position = script.lines.start(first_line(body[0])) if body else len(script.lines.text)
    return name, at_end(script, position, f"{line}{script.lines.newline}")
