"""Faults: kills at random moments, disks that are full, read-only or hang, no memory, wrong clocks."""

from __future__ import annotations

import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.chaos.damage import RECORDED
from bench.chaos.hanging import served
from bench.chaos.kept import Attack, Result
from bench.chaos.processes import TIMEOUT, environment

SCRIPT = Path(__file__).parent / "faulty.py"
_KILLS = {signal.SIGKILL: 80, signal.SIGTERM: 60, signal.SIGINT: 60}  # 200 in all
_PER_ATTACK = 10
_LOST = 1.0  # second of steps that a kill may lose, and the time of a wake-up on a busy machine
_SLACK = 1.0
_LONGEST_HUNG = 60.0  # seconds for the rest of the training and its exit


def attacks() -> list[Attack]:
    kills = [
        Attack(f"{number.name} at a random moment, part {part + 1}", _killer(number, part))
        for number, times in _KILLS.items()
        for part in range(times // _PER_ATTACK)
    ]
    return [
        *kills,
        Attack("a segfault in native code", _ends_by("import ctypes; ctypes.string_at(0)", -11)),
        Attack("os._exit", _ends_by("os._exit(7)", 7)),
        Attack("abort", _ends_by("os.abort()", -6)),
        Attack("the clock steps back and forth", clock_steps),
        Attack("the disk of the run folder is full", full_disk),
        Attack("the run folder becomes read-only", read_only),
        Attack("the run folder is deleted", deleted),
        Attack("the disk of the run folder hangs", hanging_disk),
        Attack("out of memory under a cgroup's limit", out_of_memory),
        Attack("cut off at every byte of the last block", cut_off_everywhere),
        Attack("one bit flipped", flipped_bits),
    ]


@dataclass
class Training:
    """A recorded training that runs."""

    place: Path
    folder: Path
    process: subprocess.Popen[bytes]

    def until_it_trains(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line == b"training\n", line + self.process.stdout.read()

    @property
    def steps(self) -> int:
        """Steps that the training itself has counted."""
        steps, _ = struct.unpack("qq", (self.place / "count").read_bytes())
        return int(steps)

    def goes_on(self, seconds: float = 1.0) -> bool:
        before = self.steps
        time.sleep(seconds)
        return self.steps > before + 5

    def end(self) -> tuple[int, bytes]:
        """Wait for its own end."""
        output, _ = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, output


@contextmanager
def training(steps: int, folder: Path | None = None, **variables: str) -> Iterator[Training]:
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as scratch:
        place = Path(scratch)
        shutil.copy(SCRIPT, place / "train.py")
        out = folder or place / "recorded"
        command = [sys.executable, "-m", "unslow", "run", "-q", "--out", str(out)]
        process = subprocess.Popen(
            [*command, "train.py", str(steps)],
            cwd=place,
            env=environment(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield Training(place, out, process)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _killer(number: signal.Signals, part: int) -> Callable[[], Result]:
    def kill() -> Result:
        chance = random.Random(f"{number} {part}")
        broke: list[str] = []
        most = 0.0
        for _ in range(_PER_ATTACK):
            lost, problems = _killed(number, chance.uniform(0.0, 2.5))
            most = max(most, lost)
            broke += problems
        return Result(_PER_ATTACK, f"{most:.2f} s of steps", tuple(broke))

    return kill


def _killed(number: signal.Signals, moment: float) -> tuple[float, list[str]]:
    """Kill a training; the seconds of steps that the recording lacks, and what else is wrong."""
    with training(10**6) as one:
        one.until_it_trains()
        time.sleep(moment)
        pid = _child_of(one.process.pid)
        os.kill(pid, number)
        code, output = one.end()
        steps = one.steps
        problems = []
        if code != -number:
            problems.append(f"{number.name}: it ended with {code}: {output[-200:]!r}")
        lost, told = _lost(one.folder, steps, moment)
        expected = f"killed by {number.name}"
        if expected not in told:
            problems.append(f"{number.name}: the report says {told!r}")
        if lost > _LOST + _SLACK:
            problems.append(f"{number.name} after {moment:.2f} s lost {lost:.2f} s")
        return lost, problems


def _lost(folder: Path, steps: int, seconds: float) -> tuple[float, str]:
    """Seconds of steps that are not in the recording, and how it says that it ended."""
    from unslow.analyse.run.assemble import load
    from unslow.diagnose import diagnose
    from unslow.report.view import view_of

    run = load(str(folder))
    view_of(diagnose(run))
    loops = run.loops
    typical = loops[0].typical() if loops else 0.01
    return max(0, steps - run.steps) * typical, run.ended


def _child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0])


def _ends_by(fault: str, expected: int) -> Callable[[], Result]:
    def end() -> Result:
        with training(10**6, FAULT=fault, AT="300") as one:
            code, output = one.end()
            lost, told = _lost(one.folder, one.steps, 1.0)
            broke = []
            if code != expected:
                broke.append(f"it ended with {code}: {output[-200:]!r}")
            if lost > _LOST + _SLACK:
                broke.append(f"{lost:.2f} s lost")
            return Result(1, f"{lost:.2f} s of steps", tuple(broke), f"the report says: {told}")

    return end


def clock_steps() -> Result:
    """The wall clock of the machine jumps by a day, by way of `time.time` of the process."""
    if shutil.which("faketime") is None:
        return Result(skipped="faketime is not installed, and the machine's clock is not ours")
    with training(300, FAKETIME="+0") as one:
        one.until_it_trains()
        code, _ = one.end()
        return Result(1, "nothing", () if code == 0 else (f"exit {code}",))


def full_disk() -> Result:
    with _mounted("tmpfs", "size=300k") as disk:
        if disk is None:
            return Result(skipped="no permission to mount")
        with training(1500, disk / "run") as one:
            one.until_it_trains()
            (disk / "filler").write_bytes(b"x" * (150 << 10))
            time.sleep(1.0)
            _fill(disk / "rest")
            return _unharmed(one, "what came after the disk was full")


def _fill(path: Path) -> None:
    try:
        with path.open("wb") as file:
            while True:
                file.write(b"x" * 1024)
                file.flush()
    except OSError:
        return


def read_only() -> Result:
    with _mounted("tmpfs", "size=20m") as disk:
        if disk is None:
            return Result(skipped="no permission to mount")
        with training(800, disk / "run") as one:
            one.until_it_trains()
            time.sleep(0.5)
            command = ["mount", "-o", "remount,ro", str(disk)]
            done = subprocess.run(command, check=False, capture_output=True)
            if done.returncode:  # files are open for writing: it is refused, as by a real disk
                shutil.rmtree(disk / "run", ignore_errors=True)
            return _unharmed(one, "what came after", readable=not done.returncode)


def deleted() -> Result:
    with tempfile.TemporaryDirectory() as place, training(800, Path(place) / "run") as one:
        one.until_it_trains()
        shutil.rmtree(Path(place) / "run")
        return _unharmed(one, "the recording", readable=False)


def hanging_disk() -> Result:
    """The training goes on while its disk hangs, also to its end; then the disk answers again."""
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as disk:
        if disk is None:
            return Result(skipped="no permission to mount")
        with training(1200, disk.mount / "run") as one:
            one.until_it_trains()
            child = _child_of(one.process.pid)
            while one.steps < 500:
                time.sleep(0.05)
            disk.hang()
            try:
                ends = _is_gone_within(_LONGEST_HUNG, child)
                steps = one.steps
            finally:
                disk.answer()
            result = _unharmed(one, "what came after the disk hung")
            broke = [] if ends else [f"it stood still at step {steps} while the disk hung"]
            return Result(1, result.lost, (*broke, *result.broke), f"{disk.kind}; {result.note}")


def _is_gone_within(seconds: float, pid: int) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]:
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


def out_of_memory() -> Result:
    group = Path("/sys/fs/cgroup/memory/unslow-chaos")
    try:
        group.mkdir(exist_ok=True)
        (group / "memory.limit_in_bytes").write_text(str(1 << 30))
    except OSError as problem:
        return Result(skipped=f"no memory cgroup: {problem.strerror}")
    eat = "import ctypes; held = [bytearray(64 << 20) for _ in range(64)]"
    try:
        with training(10**6, FAULT=eat, AT="300") as one:
            one.until_it_trains()
            child = _child_of(one.process.pid)
            (group / "cgroup.procs").write_text(str(child))
            code, output = one.end()
            lost, told = _lost(one.folder, one.steps, 1.0)
            broke = [] if code == -signal.SIGKILL else [f"it ended with {code}: {output[-200:]!r}"]
            if lost > _LOST + _SLACK:
                broke.append(f"{lost:.2f} s lost")
            return Result(1, f"{lost:.2f} s of steps", tuple(broke), f"the report says: {told}")
    finally:
        time.sleep(0.2)
        group.rmdir()


def _unharmed(one: Training, lost: str, readable: bool = True) -> Result:
    """The training must reach its end; what there is of the recording must be readable."""
    code, output = one.end()
    broke = []
    if code != 0 or not output.endswith(b"done\n"):
        broke.append(f"it ended with {code}: {output[-300:]!r}")
    if readable:
        missing, told = _lost(one.folder, one.steps, 1.0)
        return Result(1, lost, tuple(broke), f"{missing:.1f} s of steps missing; {told}")
    return Result(1, lost, tuple(broke))


@contextmanager
def _mounted(kind: str, options: str) -> Iterator[Path | None]:
    with tempfile.TemporaryDirectory() as place:
        command = ["mount", "-t", kind, "-o", options, "none", place]
        if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
            yield None
            return
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)


_BLOCK = 4096
_FLIPS = 400


def cut_off_everywhere() -> Result:
    """Every length of the last block of both logs: a report, and no more lost than was cut off."""
    tries, broke = 0, []
    with _extracted("retracing_dtype") as folder:
        for path in sorted((*folder.glob("*.steps"), *folder.glob("*.events"))):
            data = path.read_bytes()
            for length in range(max(0, len(data) - _BLOCK), len(data)):
                path.write_bytes(data[:length])
                tries += 1
                broke += _unread(folder, f"{path.suffix} cut off at {length}")
            path.write_bytes(data)
    return Result(tries, "what was cut off", tuple(broke[:5]))


def flipped_bits() -> Result:
    broke: list[str] = []
    chance = random.Random(5)
    with _extracted("healthy-eager_large_ops") as folder:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        for _ in range(_FLIPS):
            path = chance.choice(files)
            data = bytearray(path.read_bytes())
            if not data:
                continue
            at = chance.randrange(len(data))
            data[at] ^= 1 << chance.randrange(8)
            before, _ = path.read_bytes(), path.write_bytes(bytes(data))
            broke += _unread(folder, f"a bit of {path.name} at {at}", whole=False)
            path.write_bytes(before)
    return Result(_FLIPS, "one line or row", tuple(broke[:5]))


def _unread(folder: Path, what: str, whole: bool = True) -> list[str]:
    """What went wrong while reading; making the report as well takes a hundred times as long."""
    from unslow.analyse.run.assemble import load
    from unslow.errors import UnslowError

    try:
        load(str(folder))
    except UnslowError as problem:
        return [f"{what}: {problem}"] if whole else []
    except Exception as problem:  # noqa: BLE001 - what we look for
        return [f"{what}: {problem!r}"]
    return []


@contextmanager
def _extracted(name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as place:
        with zipfile.ZipFile(RECORDED / f"{name}.zip") as archive:
            archive.extractall(place)
        yield Path(place)
