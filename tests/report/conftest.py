"""Gold files of the reports: `pytest tests/report --gold` writes them again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .readers import launch, npm

__all__ = ["launch", "npm"]

GOLD = Path(__file__).parent / "gold"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--gold", action="store_true", help="write the gold files of the reports again"
    )


@pytest.fixture
def matches_gold(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares text with a gold file by name, or writes it."""

    def check(name: str, text: str) -> None:
        path = GOLD / name
        if request.config.getoption("--gold", default=False):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), (
            f"no gold file {name}: run `pytest tests/report --gold` and look at it"
        )
        assert text == path.read_text(encoding="utf-8"), (
            f"{name} differs: if meant, `pytest tests/report --gold`"
        )

    return check
