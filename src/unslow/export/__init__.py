"""A diagnosis in the formats of other tools, one file per format."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from unslow.errors import UnslowError, cannot_write
from unslow.model import Diagnosis

Write = Callable[[Diagnosis, Path], None]

# Name → the module here, and the file that is written where the user names none.
FORMATS = {
    "tensorboard": ("tensorboard", "tensorboard"),
    "perfetto": ("perfetto", "trace.json"),
    "parquet": ("parquet", "steps.parquet"),
    "opentelemetry": ("opentelemetry", "metrics.json"),
    "wandb": ("wandb", "wandb"),
    "mlflow": ("mlflow", "mlruns"),
}


def export(diagnosis: Diagnosis, form: str, path: str | Path | None = None) -> Path:
    """Write a diagnosis in one of FORMATS; returns the path: a file, or a folder for a tracker."""
    module, default = FORMATS[form]
    target = Path(path) if path is not None else Path(diagnosis.run.folder) / default
    write: Write = importlib.import_module(f"unslow.export.{module}").write
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write(diagnosis, target)
    except OSError as problem:
        raise cannot_write(target, problem, "Name another place with -o PATH.") from None
    return target


def need(package: str, module: str, extra: str, form: str) -> ModuleType:
    """A module of an optional package, or the error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UnslowError(
            f"cannot export to {form}",
            f"the package {package} is not installed here",
            f"Install it beside unslow: pip install 'unslow[{extra}]'",
            "missing-extra",
        ) from None
