"""Who may import whom: the laws of the design as tests."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "unslow"
MODULES = sorted(SOURCE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Every module that a file imports at run time, wherever in the file."""
    tree = ast.parse(path.read_text())
    checked = {
        id(node)
        for guard in ast.walk(tree)
        if isinstance(guard, ast.If) and "TYPE_CHECKING" in ast.unparse(guard.test)
        for node in ast.walk(guard)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in checked:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize(
    "path", [p for p in MODULES if "record" in p.relative_to(SOURCE).parts], ids=named
)
def test_what_lives_in_the_users_process_needs_the_standard_library_only(path: Path) -> None:
    ours = {"unslow.record", "unslow.runfolder", "unslow.facts"}
    for name in imported(path):
        top = name.partition(".")[0]
        if top == "unslow":
            assert name == "unslow" or any(
                name == own or name.startswith(own + ".") for own in ours
            ), name
        else:
            assert top in sys.stdlib_module_names, name


@pytest.mark.parametrize("name", ["facts/phase.py", "runfolder/layout.py", "__init__.py"])
def test_what_the_recorder_shares_with_us_needs_the_standard_library_only(name: str) -> None:
    outside = {found.partition(".")[0] for found in imported(SOURCE / name)} - set(
        sys.stdlib_module_names
    )
    assert outside <= {"unslow"}


@pytest.mark.parametrize("path", sorted((SOURCE / "causes").glob("*.py")), ids=named)
def test_a_cause_neither_looks_nor_shows(path: Path) -> None:
    forbidden = (
        "unslow.record",
        "unslow.report",
        "unslow.cli",
        "unslow.proof.prove",
        "unslow.proof.launch",
    )
    assert not [name for name in imported(path) if name.startswith(forbidden)]


@pytest.mark.parametrize("path", sorted((SOURCE / "fix").rglob("*.py")), ids=named)
def test_an_edit_knows_no_cause(path: Path) -> None:
    forbidden = ("unslow.cause", "unslow.analyse", "unslow.record", "unslow.report", "unslow.cli")
    assert not [name for name in imported(path) if name.startswith(forbidden)]


@pytest.mark.parametrize("path", sorted((SOURCE / "syntax").rglob("*.py")), ids=named)
def test_the_model_of_source_knows_neither_edits_nor_runs(path: Path) -> None:
    forbidden = ("unslow.fix", "unslow.causes", "unslow.analyse", "unslow.record", "unslow.report")
    assert not [name for name in imported(path) if name.startswith(forbidden)]


@pytest.mark.parametrize("path", sorted((SOURCE / "report").glob("*.py")), ids=named)
def test_a_report_sees_only_the_view(path: Path) -> None:
    allowed = ("unslow.report", "unslow.errors")
    names = {name for name in imported(path) if name.startswith("unslow.")}
    assert not [name for name in names if not name.startswith(allowed)]


@pytest.mark.parametrize("path", [p for p in MODULES if p.parent.name != "cli"], ids=named)
def test_only_the_command_line_prints_and_exits(path: Path) -> None:
    if path.name == "launch.py":
        return  # leaving with the command's own exit code is what it is for
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [
        call for call in calls if ast.unparse(call.func) in {"print", "sys.exit", "exit", "quit"}
    ]


def test_no_import_cycle_at_module_level() -> None:
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        name = ".".join(("unslow", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        top = ast.Module(
            [
                n
                for n in ast.parse(path.read_text()).body
                if isinstance(n, ast.Import | ast.ImportFrom)
            ],
            [],
        )
        found = {n.module for n in ast.walk(top) if isinstance(n, ast.ImportFrom) and n.module}
        graph[name] = {other for other in found if other.startswith("unslow") and other != name}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        if name in done:
            return
        for other in graph.get(name, ()):
            visit(other, (*path, name))
        done.add(name)

    for name in graph:
        visit(name, ())
