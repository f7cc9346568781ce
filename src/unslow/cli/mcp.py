"""`unslow mcp`: the same commands for agents, over the Model Context Protocol."""

from __future__ import annotations

import click

import unslow
from unslow.errors import UnslowError


@click.command(short_help="Serve run, why, fix, prove, check and explain to an agent.")
def mcp() -> None:
    """Serve unslow to an agent over the Model Context Protocol, on stdin and stdout.

    \b
    Tools: run, why, fix, prove, check, explain. To register it with an agent:
    {"mcpServers": {"unslow": {"command": "unslow", "args": ["mcp"]}}}
    """
    try:
        from unslow.agent_server import server
    except ImportError:
        raise UnslowError(
            "cannot serve agents",
            "the package mcp is not installed here",
            "Install it beside unslow: pip install 'unslow[mcp]'",
            "missing-extra",
        ) from None
    server(unslow.__version__).run("stdio")
