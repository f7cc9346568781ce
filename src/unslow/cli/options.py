"""The arguments and options of a command as one typed object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Options = TypeVar("Options")


def takes(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Collect what click parsed in a dataclass, whose fields are named like the parameters."""

    def collecting(command: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(command)
        def callback(**parsed: Any) -> None:
            command(kind(**parsed))

        return callback

    return collecting
