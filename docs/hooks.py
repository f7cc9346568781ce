"""For mkdocs: lists generated folders in the navigation, and shows files outside docs/ as plain code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).parent
_MAY_BE_MISSING = ("field.md",)  # written by `make field`, which takes an hour
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)\s#:]+)(?:#[^)]*)?\)")


def on_config(config: Any) -> Any:
    """A folder in the navigation stands for its README and then all of its pages."""
    config.nav = [_expanded(entry) for entry in config.nav]
    return config


def _is_there(entry: Any) -> bool:
    page = next(iter(entry.values())) if isinstance(entry, dict) else entry
    return page not in _MAY_BE_MISSING or (_DOCS / page).exists()


def _expanded(entry: Any) -> Any:
    if isinstance(entry, str):
        return entry
    ((title, value),) = entry.items()
    if isinstance(value, list):
        return {title: [_expanded(each) for each in value if _is_there(each)]}
    if value.endswith("/"):
        pages = sorted(path.name for path in (_DOCS / value).glob("*.md"))
        pages.remove("README.md")
        return {title: [f"{value}README.md", *(value + page for page in pages)]}
    return entry


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link to a file of the repository that is no page leads nowhere on the site."""
    folder = (_DOCS / page.file.src_uri).parent

    def shown(link: re.Match[str]) -> str:
        target = (folder / link["target"]).resolve()
        is_outside = not target.is_relative_to(_DOCS)
        return link["text"] if is_outside and target.exists() else link[0]

    return _LINK.sub(shown, markdown)
