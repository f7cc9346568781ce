"""A run of Weights & Biases, written offline; `wandb sync FOLDER` uploads it."""

from __future__ import annotations

from pathlib import Path

from unslow.export import need
from unslow.export.series import rows_of, settings_of, summary_of
from unslow.model import Diagnosis
from unslow.report import markdown
from unslow.report.view import view_of


def write(diagnosis: Diagnosis, path: Path) -> None:
    """Into `path`/wandb/offline-run-…; nothing is sent anywhere."""
    wandb = need("wandb", "wandb", "wandb", "wandb")
    path.mkdir(parents=True, exist_ok=True)
    quiet = wandb.Settings(silent=True, console="off", disable_git=True, save_code=False)
    run = wandb.init(
        project="unslow",
        name=Path(diagnosis.run.folder).name,
        dir=str(path),
        mode="offline",
        config=settings_of(diagnosis),
        notes=markdown.dumps(view_of(diagnosis)),
        settings=quiet,
    )
    for _, step, values in rows_of(diagnosis):
        run.log(values, step=step, commit=True)
    run.summary.update(summary_of(diagnosis))
    run.finish()
    # finish() returns before the last block of the file is on disk (wandb 0.31, one run in four);
    # its service has written all of it once it has ended.
    wandb.teardown()
