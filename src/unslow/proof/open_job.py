"""Opens a run folder for a job whose processes an engine starts, without `unslow run`."""

from __future__ import annotations

import uuid
from pathlib import Path

from unslow.proof import launch, run_folder
from unslow.proof.membership import Membership, join, membership_of
from unslow.runfolder import members


def open_job(folder: Path) -> dict[str, str]:
    """The variables with which processes record into a folder that all of them can reach."""
    known = membership_of()
    membership = known or Membership(f"job {uuid.uuid4().hex[:12]}", "")
    place = join(folder, membership)
    env = launch.environment(place)
    about = run_folder.header((), env)
    shared = {key: value for key, value in about.items() if key not in ("launcher", "clock")}
    members.create_header(place, {**shared, "job": membership.job})
    job = {} if known else {"UNSLOW_JOB": membership.job.removeprefix("job ")}
    return {"UNSLOW_RUN": place, "PYTHONPATH": env["PYTHONPATH"], **job}
