"""`unslow mcp` as a real client of the protocol sees it."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client

EXAMPLES = Path(__file__).parents[1] / "examples"


def asked(question: Callable[[ClientSession], Awaitable[Any]]) -> Any:
    """The answer of a server that was started for one question."""

    async def ask() -> Any:
        command = StdioServerParameters(command=sys.executable, args=["-m", "unslow", "mcp"])
        async with stdio_client(command) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return await question(session)

    return anyio.run(ask)


def called(tool: str, **arguments: Any) -> Any:
    return asked(lambda session: session.call_tool(tool, arguments))


def data(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    found: dict[str, Any] = json.loads(result.content[0].text)
    return found


def test_an_agent_sees_the_commands_with_their_descriptions() -> None:
    listed = asked(lambda session: session.list_tools()).tools
    assert {tool.name for tool in listed} == {"run", "why", "fix", "prove", "check", "explain"}
    assert all(tool.description for tool in listed)


def test_an_agent_reads_what_a_cause_means() -> None:
    (entry,) = data(called("explain", name="retracing"))["entries"]
    assert "When we are wrong" in entry["text"]


def test_an_agent_checks_source() -> None:
    found = data(called("check", paths=["retracing.py"], directory=str(EXAMPLES)))
    assert "retracing" in [spot["cause"] for spot in found["spots"]]


def test_an_agent_reads_the_report_of_a_run_without_its_charts(tmp_path: Path) -> None:
    with zipfile.ZipFile(EXAMPLES / "recorded" / "retracing.zip") as packed:
        packed.extractall(tmp_path)
    report = data(called("why", run=str(tmp_path)))
    assert report["findings"][0]["cause"] == "retracing"
    assert "charts" not in report


def test_an_error_reaches_the_agent_as_the_sentence_that_a_person_reads() -> None:
    result = called("why", run="no-such-run", directory=str(EXAMPLES))
    assert result.is_error
    assert "no run no-such-run" in result.content[0].text
