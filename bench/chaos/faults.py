"""Faults: kills at random moments, disks that are full, read-only or hang, no memory, wrong clocks."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.chaos.damage import RECORDED
from bench.chaos.hanging import Disk, served
from bench.chaos.kept import ROOT, Attack, Result
from bench.chaos.processes import TIMEOUT, environment

SCRIPT = Path(__file__).parent / "faulty.py"
_KILLS = {signal.SIGKILL: 80, signal.SIGTERM: 60, signal.SIGINT: 60}  # 200 in all …
_LAUNCHED = 4  # … of each, so many by way of `unslow run`; the others are forks of one process
_LOST = 1.0  # second of steps that a kill may lose, and the time of a wake-up on a busy machine
_SLACK = 1.0
_LONG_SILENCE = 4.0  # seconds without steps that the report must mention
_FORKS_TIMEOUT = 1500.0
_LONGEST_HUNG = 60.0  # seconds for the rest of the training and its exit


def attacks() -> list[Attack]:
    return [
        *(
            Attack(f"{number.name} at a random moment", _forks_killed(number, times - _LAUNCHED))
            for number, times in _KILLS.items()
        ),
        *(
            Attack(f"{number.name} at a random moment, under `unslow run`", _launched(number))
            for number in _KILLS
        ),
        Attack("a segfault in native code", _ends_by("import ctypes; ctypes.string_at(0)", -11)),
        Attack("os._exit", _ends_by("os._exit(7)", 7)),
        Attack("abort", _ends_by("os.abort()", -6)),
        Attack("the clock steps back and forth", clock_steps),
        Attack("the disk of the run folder is full", full_disk),
        Attack("the quota of the run folder's disk is used up", used_up_quota),
        Attack("files may not grow any more", limited_files),
        Attack("the disk of the run folder becomes read-only", read_only),
        Attack("the disk of the run folder vanishes", vanished_disk),
        Attack("the run folder is deleted", deleted),
        Attack("the disk of the run folder hangs", hanging_disk),
        Attack("the disk of the run folder is slow", slow_disk),
        Attack("out of memory under a cgroup's limit", out_of_memory),
        Attack("no more address space", no_address_space),
        *(
            Attack(f"{log} cut off at every byte of its last block", _cut_off(log))
            for log in (".events", ".steps")
        ),
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


def _forks_killed(number: signal.Signals, count: int) -> Callable[[], Result]:
    def kill() -> Result:
        with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as place:
            words = [place, str(int(number)), "25", str(count)]
            done = subprocess.run(
                [sys.executable, "-m", "bench.chaos.forked", *words],
                cwd=ROOT,
                env=environment({"PYTHONPATH": str(ROOT)}),
                capture_output=True,
                text=True,
                timeout=_FORKS_TIMEOUT,
                check=False,
            )
            rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            broke = [] if len(rows) == count else [f"{len(rows)} ended: {done.stderr[-300:]}"]
            most = 0.0
            for row in rows:
                lost, told = _lost(Path(row["folder"]), row["steps"])
                ending = _Ending(number, row["code"], row["output"], row["moment"])
                most = max(most, lost)
                broke += ending.problems(lost, told)
        return Result(count, f"{most:.2f} s of steps", tuple(broke))

    return kill


@dataclass(frozen=True)
class _Ending:
    """How a training that was killed ended."""

    number: signal.Signals
    code: int
    output: object
    moment: float

    def problems(self, lost: float, told: str) -> list[str]:
        name = self.number.name
        found = []
        if self.code != -self.number:
            found.append(f"{name}: it ended with {self.code}: {self.output!r}")
        if f"killed by {name}" not in told:
            found.append(f"{name}: the report says {told!r}")
        if lost > _LOST + _SLACK:
            found.append(f"{name} after {self.moment:.2f} s lost {lost:.2f} s")
        return found


def _launched(number: signal.Signals) -> Callable[[], Result]:
    """Trainings under `unslow run`, all at once."""

    def kill() -> Result:
        chance = random.Random(int(number))
        moments = [chance.uniform(0.0, 2.5) for _ in range(_LAUNCHED)]
        with ThreadPoolExecutor(_LAUNCHED) as pool:
            found = list(pool.map(lambda moment: _killed(number, moment), moments))
        broke = [text for _, problems in found for text in problems]
        return Result(_LAUNCHED, f"{max(lost for lost, _ in found):.2f} s of steps", tuple(broke))

    return kill


def _killed(number: signal.Signals, moment: float) -> tuple[float, list[str]]:
    """Kill a training; the seconds of steps that the recording lacks, and what else is wrong."""
    with training(10**6) as one:
        one.until_it_trains()
        time.sleep(moment)
        os.kill(_child_of(one.process.pid), number)
        code, output = one.end()
        lost, told = _lost(one.folder, one.steps)
        return lost, _Ending(number, code, output[-200:], moment).problems(lost, told)


def _lost(folder: Path, steps: int) -> tuple[float, str]:
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
            lost, told = _lost(one.folder, one.steps)
            broke = []
            if code != expected:
                broke.append(f"it ended with {code}: {output[-200:]!r}")
            if lost > _LOST + _SLACK:
                broke.append(f"{lost:.2f} s lost")
            return Result(1, f"{lost:.2f} s of steps", tuple(broke), f"the report says: {told}")

    return end


_STEPS_OF_CLOCK = (86_400, -86_400, 3_600, -7_200, 0)  # seconds that the wall clock is off by
_SHIM = Path(__file__).parent / "stepped_clock.c"


def clock_steps() -> Result:
    """The wall clock of the launcher and of the training jumps by hours and by days."""
    compiler = shutil.which("cc")
    if compiler is None:
        return Result(skipped="there is no C compiler for the shim that steps the clock")
    with tempfile.TemporaryDirectory(prefix="unslow-chaos-") as name:
        shim, offset = Path(name) / "stepped_clock.so", Path(name) / "offset"
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", str(shim), str(_SHIM), "-ldl"], check=True
        )
        offset.write_bytes(struct.pack("q", 0))
        began = time.time()
        with training(900, LD_PRELOAD=str(shim), STEPPED_CLOCK=str(offset)) as one:
            one.until_it_trains()
            for seconds in _STEPS_OF_CLOCK:
                with offset.open("r+b") as file:
                    file.write(struct.pack("q", seconds))
                time.sleep(0.5)
            code, output = one.end()
            broke = [] if code == 0 else [f"exit {code}: {output[-200:]!r}"]
            seen = float(output.split(b"wall ")[1].split()[0]) if b"wall " in output else 0.0
            if abs(seen) < 3_600:
                broke.append(f"the training did not see the steps: {seen:.0f} s")
            broke += _wrong_times(one.folder, time.time() - began)
        return Result(len(_STEPS_OF_CLOCK), "nothing", tuple(broke), "by a shim for libc")


def _wrong_times(folder: Path, most: float) -> Iterator[str]:
    """No duration of a run can be longer than the attack, and none can be negative."""
    from unslow.analyse.run.assemble import load
    from unslow.facts.process import Tick

    run = load(str(folder))
    loop = run.loops[0]
    if run.steps != 900:
        yield f"{run.steps} steps, not 900"
    if not 900 * 0.005 <= loop.total <= most:
        yield f"its steps take {loop.total:.1f} s"
    if not loop.total <= run.seconds <= most:
        yield f"it took {run.seconds:.1f} s"
    durations = {"a step": loop.seconds.min(), "its start": loop.start}
    durations |= {"a pause": float((loop.end[1:] - loop.end[:-1]).min())}
    yield from (f"{what} took {value:.3f} s" for what, value in durations.items() if value < 0)
    late = [fact.time for fact in run.facts(Tick) if not -1.0 <= fact.time <= most]
    if late:
        yield f"a counter was read at {late[0]:.1f} s"
    if abs(run.started - time.time()) > 600:
        yield f"it started at {run.started:.0f}"


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


def _fill(path: Path, block: int = 1024) -> None:
    try:
        with path.open("wb") as file:
            while True:
                file.write(b"x" * block)
                file.flush()
    except OSError:
        return


def used_up_quota() -> Result:
    """A real quota (of a btrfs subvolume, which holds for root too): writes fail with EDQUOT."""
    with _btrfs() as disk:
        if disk is None:
            return Result(skipped="no permission to mount, or no btrfs")
        with training(800, disk / "run") as one:
            one.until_it_trains()
            subprocess.run(["btrfs", "qgroup", "limit", "1M", str(disk)], check=True)
            _fill(disk / "rest", 64 << 10)
            return _unharmed(one, "what came after the quota was used up")


@contextmanager
def _btrfs() -> Iterator[Path | None]:
    """A subvolume with a quota, on a file system in a file."""
    with _image("mkfs.btrfs", 128 << 20) as mount:
        if mount is None:
            yield None
            return
        volume = str(mount / "volume")
        for words in (["quota", "enable", str(mount)], ["subvolume", "create", volume]):
            subprocess.run(["btrfs", *words], check=True, capture_output=True)
        yield Path(volume)


def limited_files() -> Result:
    """A limit on the size of files in the middle: writes fail with EFBIG."""
    with training(800) as one:
        one.until_it_trains()
        child = _child_of(one.process.pid)
        size = max(path.stat().st_size for path in one.folder.glob("*.events"))
        resource.prlimit(child, resource.RLIMIT_FSIZE, (size + 100, size + 100))
        return _unharmed(one, "what came after the limit")


def read_only() -> Result:
    """An ext4 that gives itself up, as after an error of the disk: writes fail with EROFS."""
    with _image() as disk:
        if disk is None:
            return Result(skipped="no permission to mount")
        with training(800, disk / "run") as one:
            one.until_it_trains()
            time.sleep(1.0)
            subprocess.run(["mount", "-o", "remount,abort", str(disk)], check=True)
            return _unharmed(one, "what came after")


@contextmanager
def _image(tool: str = "mkfs.ext4", size: int = 16 << 20) -> Iterator[Path | None]:
    """A file system of its own in a file."""
    with tempfile.TemporaryDirectory() as scratch:
        image, mount = Path(scratch) / "image", Path(scratch) / "mount"
        mount.mkdir()
        with image.open("wb") as file:
            file.truncate(size)
        make = [tool, "-q", str(image)]
        loop = ["mount", "-o", "loop", str(image), str(mount)]
        can = not os.geteuid() and shutil.which(tool) is not None
        if not can or any(subprocess.run(one, check=False).returncode for one in (make, loop)):
            yield None
            return
        try:
            yield mount
        finally:
            subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)


def vanished_disk() -> Result:
    """The server of a FUSE mount is killed: writes fail with ENOTCONN, as of a network disk."""
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as disk:
        if disk is None or disk.kill is None:
            return Result(skipped="no permission to mount, or no bindfs")
        with training(800, disk.mount / "run") as one:
            one.until_it_trains()
            time.sleep(1.0)
            disk.kill()
            return _unharmed(one, "what came after", readable=False)


def slow_disk() -> Result:
    """A disk that answers for a tenth of the time."""
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as disk:
        if disk is None:
            return Result(skipped="no permission to mount")
        with training(800, disk.mount / "run") as one:
            one.until_it_trains()
            slow = threading.Event()
            thread = threading.Thread(target=_hesitate, args=(disk, slow))
            thread.start()
            try:
                return _unharmed(one, "nothing", complete=True)
            finally:
                slow.set()
                thread.join()


def _hesitate(disk: Disk, done: threading.Event) -> None:
    while not done.wait(0.03):
        disk.hang()
        done.wait(0.3)
        disk.answer()


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
            lost, told = _lost(one.folder, one.steps)
            broke = [] if code == -signal.SIGKILL else [f"it ended with {code}: {output[-200:]!r}"]
            if lost > _LOST + _SLACK:
                broke.append(f"{lost:.2f} s lost")
            return Result(1, f"{lost:.2f} s of steps", tuple(broke), f"the report says: {told}")
    finally:
        time.sleep(0.2)
        group.rmdir()


def no_address_space() -> Result:
    """The training has a MemoryError of its own, and ends by it; the recorder adds nothing."""
    eat = (
        "import resource; size = int(open('/proc/self/statm').read().split()[0]) * 4096; "
        "resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 24), size + (1 << 24))); "
        "held = [bytearray(8 << 20) for _ in range(64)]"
    )
    with training(10**6, FAULT=eat, AT="300") as one:
        code, output = one.end()
        lost, told = _lost(one.folder, one.steps)
        broke = [] if code == 1 else [f"it ended with {code}: {output[-200:]!r}"]
        if b"MemoryError" not in output or b"unslow: " in output:
            broke.append(f"it printed {output[-300:]!r}")
        if lost > _LOST + _SLACK:
            broke.append(f"{lost:.2f} s lost")
        return Result(1, f"{lost:.2f} s of steps", tuple(broke), f"the report says: {told}")


def _unharmed(one: Training, lost: str, readable: bool = True, complete: bool = False) -> Result:
    """The training must reach its end; what there is of the recording must be readable."""
    code, output = one.end()
    broke = []
    if code != 0 or not output.endswith(b"done\n"):
        broke.append(f"it ended with {code}: {output[-300:]!r}")
    if not readable:
        return Result(1, lost, tuple(broke))
    missing, told = _lost(one.folder, one.steps)
    if complete and missing:
        broke.append(f"{missing:.2f} s of steps are missing")
    if missing > _LONG_SILENCE and not _is_named(one.folder):
        broke.append(f"{missing:.1f} s are missing, and the report does not say so")
    return Result(1, lost, tuple(broke), f"{missing:.1f} s of steps missing; {told}")


def _is_named(folder: Path) -> bool:
    from unslow.analyse.run.assemble import load

    run = load(str(folder))
    is_noted = any("could no longer be written" in note for note in run.notes)
    return is_noted or run.ended.startswith("unknown: ")


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


def _cut_off(suffix: str) -> Callable[[], Result]:
    """Every length of the last block of a log: it is read, and no more is lost than was cut off."""

    def cut_off_everywhere() -> Result:
        broke: list[str] = []
        with _extracted("retracing_dtype") as folder:
            (path,) = folder.glob(f"*{suffix}")
            data = path.read_bytes()
            lengths = range(max(0, len(data) - _BLOCK), len(data))
            for length in lengths:
                path.write_bytes(data[:length])
                broke += _unread(folder, f"{suffix} cut off at {length}")
        return Result(len(lengths), "what was cut off", tuple(broke[:5]))

    return cut_off_everywhere


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
