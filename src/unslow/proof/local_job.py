"""Runs the processes of a job on this machine, recorded into one folder, and ends them together."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from unslow.proof import launch, run_folder
from unslow.proof.cluster import Cluster, Task
from unslow.proof.relay import Output, Stream
from unslow.proof.signal_handlers import Handler, handling

# Seconds. The peers of a worker that died notice it within about two seconds (measured with
# TensorFlow 2.21) and end with an error of their own, which is worth reading; then they are
# terminated, and killed if that does not help.
NOTICE = 4.0
TERMINATED = 5.0
_POLL = 0.1  # seconds between checks of which processes have ended
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


@dataclass
class _Member:
    """A task that was started."""

    task: Task
    process: subprocess.Popen[bytes]
    streams: tuple[Stream, ...]
    code: int | None = None  # negative: the signal that killed it
    seconds: float = 0.0

    @property
    def text(self) -> str:
        return launch.ended_with(self.code or 0, self.seconds).text

    def send(self, number: int) -> None:
        """To the process and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def record(
    command: Sequence[str],
    folder: str,
    cluster: Cluster,
    extra: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda text: None,
    stdout: int = 1,
) -> launch.Ended:
    """Run a command as every task of a cluster; ends as the first task that failed, if any did.

    `stdout`: the file descriptor that their output goes to.
    """
    configurations = cluster.configurations()
    env = launch.environment(folder, extra)
    if os.isatty(1):  # without us, the script's lines would appear one by one
        env.setdefault("PYTHONUNBUFFERED", "1")
    header = run_folder.header(command, env)
    header["cluster"] = {"workers": cluster.workers, "servers": cluster.servers}
    run_folder.write_header(folder, header)
    job = _Job(cluster, say, stdout)
    with job.passing_signals_on():
        try:
            for task, configuration in configurations.items():
                job.start(task, command, {**env, "TF_CONFIG": configuration})
        except OSError as problem:
            job.end_all()
            raise run_folder.cannot_start(command[0], folder, problem) from None
        ended = job.wait()
    tasks = [{"task": each.task.name, "ended": each.text} for each in job.members]
    run_folder.write_header(folder, {**header, **launch.ending(ended), "tasks": tasks})
    return ended


class _Job:
    """The processes of one job."""

    def __init__(self, cluster: Cluster, say: Callable[[str], None], stdout: int) -> None:
        self.members: list[_Member] = []
        self._cluster = cluster
        self._say = say
        self._selector = selectors.DefaultSelector()
        self._outputs = (Output(stdout), Output(2))
        self._began = time.perf_counter()
        self._interrupts = 0
        self._failed: _Member | None = None
        self._deadline = float("inf")  # of the next, harder way to end what is left
        self._ways = iter((signal.SIGTERM, signal.SIGKILL))

    def start(self, task: Task, command: Sequence[str], env: Mapping[str, str]) -> None:
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that all that it starts can be ended with it
            preexec_fn=die_with_parent(),
        )
        pipes = (process.stdout, process.stderr)
        streams = []
        for pipe, output in zip(pipes, self._outputs, strict=True):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            stream = Stream(task.name, len(self.members), pipe.fileno(), output)
            self._selector.register(pipe, selectors.EVENT_READ, stream)
            streams.append(stream)
        self.members.append(_Member(task, process, tuple(streams)))

    def wait(self) -> launch.Ended:
        """Pass output on until every process has ended."""
        while self._running():
            self._pass_output_on(_POLL)
            for member in self._running():
                self._look_at(member)
            if time.perf_counter() >= self._deadline:
                self._end_harder()
        self._drain()
        self._sweep()
        return self._ended()

    def end_all(self) -> None:
        for member in self.members:
            member.send(signal.SIGKILL)
            member.process.wait()

    def _running(self) -> list[_Member]:
        return [member for member in self.members if member.code is None]

    def _look_at(self, member: _Member) -> None:
        code = member.process.poll()
        if code is None:
            return
        member.code, member.seconds = code, time.perf_counter() - self._began
        leads = self._cluster.led and member is self.members[0]
        if leads and not code:
            self._end_within(0.0)  # servers wait for ever
        elif code and self._failed is None and self._deadline == float("inf"):
            self._fail(member)

    def _fail(self, member: _Member) -> None:
        self._failed = member
        others = len(self._running())
        if others:
            self._say(f"{member.task.name} ended with {member.text}; ending {_others(others)}")
            self._end_within(NOTICE)

    def _end_within(self, seconds: float) -> None:
        self._deadline = min(self._deadline, time.perf_counter() + seconds)

    def _end_harder(self) -> None:
        way = next(self._ways, signal.SIGKILL)
        for member in self._running():
            member.send(way)
        self._deadline = time.perf_counter() + TERMINATED

    def _pass_output_on(self, seconds: float) -> bool:
        ready = self._selector.select(seconds)
        for key, _ in ready:
            stream: Stream = key.data
            if not stream.take():
                self._selector.unregister(key.fileobj)
        now = time.monotonic()
        for key in list(self._selector.get_map().values()):
            key.data.release_old(now)
        return bool(ready)

    def _drain(self) -> None:
        """What is still in the pipes; a process left behind may hold them open."""
        while self._selector.get_map() and self._pass_output_on(0.0):
            pass
        for key in list(self._selector.get_map().values()):
            key.data.finish()
        self._selector.close()
        for member in self.members:
            for pipe in (member.process.stdout, member.process.stderr):
                if pipe is not None:
                    pipe.close()

    def _sweep(self) -> None:
        """Nothing that a task started outlives the job."""
        for member in self.members:
            member.send(signal.SIGTERM)

    def _ended(self) -> launch.Ended:
        leader = self._failed or self.members[0]
        seconds = time.perf_counter() - self._began
        return launch.ended_with(leader.code or 0, seconds, self._interrupts > 0)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C asks every process to end; a second one does not wait for them."""
        self._interrupts += 1
        for member in self._running():
            member.send(signal.SIGINT)
        self._end_within(TERMINATED if self._interrupts == 1 else 0.0)

    def _forward(self, number: int, frame: FrameType | None) -> None:
        for member in self._running():
            member.send(number)
        if number in (signal.SIGTERM, signal.SIGHUP):
            self._end_within(TERMINATED)

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z suspends the job with us."""
        for member in self._running():
            member.send(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        for member in self._running():
            member.send(signal.SIGCONT)

    def passing_signals_on(self) -> contextlib.AbstractContextManager[None]:
        handlers: dict[int, Handler] = dict.fromkeys(_PASSED_ON, self._forward)
        handlers[signal.SIGINT] = self._interrupt
        handlers[signal.SIGTSTP] = self._suspend
        return handling(handlers)


def _others(count: int) -> str:
    return "the other process" if count == 1 else f"the other {count} processes"


def die_with_parent() -> Callable[[], None] | None:
    """Runs in the new process: the system kills it with us, even if we are killed ourselves."""
    if sys.platform != "linux":
        return None
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return lambda: prctl(_DIE_WITH_PARENT, signal.SIGKILL)
