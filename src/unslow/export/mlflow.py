"""A run of MLflow in a folder of its own; `mlflow ui --backend-store-uri FOLDER` shows it."""

from __future__ import annotations

import os
from pathlib import Path

from unslow.export import need
from unslow.export.series import rows_of, settings_of, summary_of
from unslow.model import Diagnosis
from unslow.report import html
from unslow.report.view import view_of

_BATCH = 500  # metrics in one call: MLflow refuses more than 1,000
# MLflow 3 refuses to write into a folder unless this is set; a data base would need a server's
# packages.
_ALLOW_FOLDERS = "MLFLOW_ALLOW_FILE_STORE"


def write(diagnosis: Diagnosis, path: Path) -> None:
    os.environ.setdefault(_ALLOW_FOLDERS, "true")
    mlflow = need("mlflow-skinny", "mlflow", "mlflow", "mlflow")
    entities = need("mlflow-skinny", "mlflow.entities", "mlflow", "mlflow")
    client = mlflow.MlflowClient(tracking_uri=path.absolute().as_uri())
    experiment = client.get_experiment_by_name("unslow")
    number = experiment.experiment_id if experiment else client.create_experiment("unslow")
    run = client.create_run(number, run_name=Path(diagnosis.run.folder).name)
    metrics = []
    started = diagnosis.run.started
    for time, step, values in rows_of(diagnosis):
        moment = int(1000 * (started + time))
        metrics += [entities.Metric(key, value, moment, step) for key, value in values.items()]
    end = int(1000 * (started + diagnosis.run.seconds))
    metrics += [entities.Metric(key, value, end, 0) for key, value in summary_of(diagnosis).items()]
    params = [entities.Param(key, str(value)) for key, value in settings_of(diagnosis).items()]
    client.log_batch(run.info.run_id, params=params)
    for first in range(0, len(metrics), _BATCH):
        client.log_batch(run.info.run_id, metrics=metrics[first : first + _BATCH])
    client.log_text(run.info.run_id, html.dumps(view_of(diagnosis)), "unslow.html")
    client.set_terminated(run.info.run_id)
