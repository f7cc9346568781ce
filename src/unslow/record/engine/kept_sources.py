"""Copies of the user's files as they ran, for the reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from unslow.facts.process import SourceKept
from unslow.facts.schema import Fact

_MOST_FILES = 500
_SOURCE = ".py"  # a module may also be a library in machine code
_MOST_CHARACTERS = 2_000_000


class KeptSources:
    """Files that were named in facts; each is copied once, by the thread that writes.

    Nothing here may raise into the user's program.
    """

    def __init__(
        self,
        folder: str,
        emit: Callable[[Fact], None],
        failed: Callable[[str, Exception], None],
    ) -> None:
        self._folder = os.path.join(folder, "sources")
        self._emit = emit
        self._failed = failed  # called with the name of this part
        self.clear()

    def clear(self) -> None:
        self._files: set[str] = set()
        self._copies: list[tuple[str, str]] = []  # that wait: digest and text

    @property
    def count(self) -> int:
        return len(self._files)

    def keep(self, file: str) -> None:
        if file in self._files or len(self._files) > _MOST_FILES:
            return
        if "UNSLOW_NO_SOURCES" in os.environ:
            return
        self._files.add(file)
        try:
            self._read(file)
        except Exception as problem:  # noqa: BLE001 - called within the user's own calls
            self._failed("sources", problem)

    def keep_beside(self, files: Iterable[str], is_users: Callable[[str], bool]) -> None:
        """Keep those of the user's files that are in the folders of kept ones, or below them.

        A file that only holds settings is on no stack, and its numbers are what a fix may change.
        """
        kept = filter(os.path.isabs, list(self._files))  # other threads add to it meanwhile
        folders = tuple({f"{os.path.dirname(file)}{os.sep}" for file in kept})
        for file in files:
            if file.startswith(folders) and file.endswith(_SOURCE) and is_users(file):
                self.keep(file)

    def _read(self, file: str) -> None:
        import hashlib
        import linecache

        text = "".join(linecache.getlines(file))
        if not text or len(text) > _MOST_CHARACTERS:
            return
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        self._emit(SourceKept(file=file, digest=digest))
        self._copies.append((digest, text))

    def write(self) -> None:
        """Write the copies that wait; one that cannot be written is missing in the reports."""
        while self._copies:
            digest, text = self._copies.pop()
            try:
                self._copy(digest, text)
            except OSError:
                continue
            except Exception as problem:  # noqa: BLE001 - facts are written all the same
                self._failed("sources", problem)

    def _copy(self, digest: str, text: str) -> None:
        path = os.path.join(self._folder, f"{digest}.py")
        os.makedirs(self._folder, exist_ok=True)
        with open(path, "wb") as copy:
            copy.write(text.encode("utf-8", "surrogatepass"))
