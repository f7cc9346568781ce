"""`unslow mcp` as a real client of the protocol sees it."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one server answers, one question after the other."""
    run = tmp_path_factory.mktemp("run")
    with zipfile.ZipFile(EXAMPLES / "recorded" / "retracing.zip") as packed:
        packed.extractall(run)
    here = {"directory": str(EXAMPLES)}
    questions: dict[str, tuple[str, dict[str, Any]]] = {
        "explain": ("explain", {"name": "retracing"}),
        "check": ("check", {"paths": ["retracing.py"], **here}),
        "no such run": ("why", {"run": "no-such-run", **here}),
        "why": ("why", {"run": str(run)}),
    }

    async def ask() -> dict[str, Any]:
        command = StdioServerParameters(command=sys.executable, args=["-m", "unslow", "mcp"])
        async with stdio_client(command) as streams, ClientSession(*streams) as session:
            await session.initialize()
            found: dict[str, Any] = {"tools": (await session.list_tools()).tools}
            for name, (tool, arguments) in questions.items():
                found[name] = await session.call_tool(tool, arguments)
            return found

    return anyio.run(ask)


def data(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    found: dict[str, Any] = json.loads(result.content[0].text)
    return found


def test_an_agent_sees_the_commands_with_their_descriptions(answers: dict[str, Any]) -> None:
    listed = answers["tools"]
    assert {tool.name for tool in listed} == {"run", "why", "fix", "prove", "check", "explain"}
    assert all(tool.description for tool in listed)


def test_an_agent_reads_what_a_cause_means(answers: dict[str, Any]) -> None:
    (entry,) = data(answers["explain"])["entries"]
    assert "When we are wrong" in entry["text"]


def test_an_agent_checks_source(answers: dict[str, Any]) -> None:
    found = data(answers["check"])
    assert "retracing" in [spot["cause"] for spot in found["spots"]]


def test_an_agent_reads_the_report_of_a_run_without_its_charts(answers: dict[str, Any]) -> None:
    report = data(answers["why"])
    assert report["findings"][0]["cause"] == "retracing"
    assert "charts" not in report


def test_an_error_reaches_the_agent_as_the_sentence_that_a_person_reads(
    answers: dict[str, Any],
) -> None:
    result = answers["no such run"]
    assert result.is_error
    assert "no run no-such-run" in result.content[0].text
