"""The recorded command as one side of a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unslow.errors import UnslowError
from unslow.facts.json_object import JsonObject
from unslow.model import Run
from unslow.planning import is_library
from unslow.proof.cluster import Cluster, has_peers
from unslow.proof.trial_job import command_of
from unslow.proof.trials import Side
from unslow.runfolder import layout as runfile


def side_of(run: Run, folder: str, texts: Mapping[str, str] | None = None) -> Side:
    """The recorded command again, from the recorded sources."""
    header = runfile.read_header(folder)
    if not run.command:
        raise UnslowError(
            "cannot run it again",
            "the run has no command",
            "Record it with `unslow run`.",
            "cannot-prove",
        )
    stdin = str(header.get("stdin") or "")
    # A recorded PYTHONPATH begins with our own way in, which a trial puts there itself.
    env = {
        key: value
        for key, value in dict(header.get("environment") or {}).items()
        if key != "PYTHONPATH"
    }
    sources = {
        file: text
        for file, text in run.sources.items()
        if not file.startswith("<") and not is_library(file)
    }
    repeats = bool(run.loops) and not run.training
    command = _as_job(run.command, header, env)
    return Side(command, run.cwd, {**sources, **(texts or {})}, env, stdin or None, repeats)


def _as_job(command: Sequence[str], header: JsonObject, env: Mapping[str, str]) -> Sequence[str]:
    """The command as it was started: alone, or as every task of a cluster on this machine."""
    cluster = header.get("cluster")
    if isinstance(cluster, dict):
        return command_of(Cluster(int(cluster["workers"]), int(cluster["servers"])), command)
    if has_peers(env.get("TF_CONFIG", "")):
        raise UnslowError(
            "cannot run it again",
            "it is one worker of a job, and its peers were started elsewhere",
            "Record a job on this machine: unslow run --workers 2 train.py",
            "cannot-prove",
        )
    return command
