"""The IPython extension: `%load_ext unslow`, then `%%unslow` at the top of a cell."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(ipython: Any) -> None:
    """Register the cell magic."""
    ipython.register_magic_function(_cell(ipython), "cell", "unslow")


def unload_ipython_extension(ipython: Any) -> None:
    ipython.magics_manager.magics["cell"].pop("unslow", None)


def _cell(ipython: Any) -> Any:
    def unslow(line: str, cell: str) -> None:
        """Record this cell, then say why it is slow. `%%unslow FOLDER` records into FOLDER."""
        from unslow.record.engine.inline import recording

        with recording(line.strip() or None, report=True):
            ipython.run_cell(cell).raise_error()

    return unslow
