"""Facts about a recorded process itself: who it is, what was sampled and counted, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from unslow.facts.schema import Duration, Fact, FilePath, Moment, Place, Stack

_UNKNOWN = float("nan")


class ProcessStart(Fact, probe="engine", kind="process"):
    """The first line of a process: who it is, and how its clock maps to the wall's."""

    pid: int
    host: str = ""
    argv: tuple[str, ...] = ()
    python: str = ""  # version
    executable: str = ""
    wall_at: int = 0  # nanoseconds since the epoch …
    clock_at: int = 0  # … at this moment of the process's clock
    cluster: str = ""  # TF_CONFIG
    cwd: str = ""


class Imported(Fact, probe="engine"):
    """TensorFlow has been imported."""

    since: Moment  # when the process began
    tensorflow: str = ""  # versions
    keras: str = ""


class FoundLiving(Fact, probe="engine", kind="found_living"):
    """What a recording that began late found among the live objects of the process."""

    functions: int = 0  # tf.functions
    iterators: int = 0
    sessions: int = 0
    optimizers: int = 0
    models: int = 0
    complete: bool = True  # False: there were too many objects to go through
    took: Duration = 0.0


class OwnStep(Fact, probe="engine", kind="own_step"):
    """The number of steps that a counter of the program itself shows."""

    counter: str  # "Adam.iterations", "global_step"
    id: int  # which of several alike
    number: int
    step: int = 0  # steps that were recorded so far


class Site(Fact, probe="engine"):
    """A place at which weights are updated; rows refer to it by number."""

    KEYS: ClassVar[Mapping[str, str]] = {"style": "kind"}

    id: int
    style: str  # function, session, optimizer or assign; predict or data where nothing trains
    owner: int = 0  # the how many-th owner at this place
    name: str = ""
    stack: Stack = ()
    loop: tuple[int, int, int] | None = None  # frame of the stack; first and last line of its loop
    fit: Place | None = None  # the line that called fit()
    thread: int = 0
    trains: bool = True  # else nothing trained so far, and this is a call that is repeated


# What runs below a line that lets go of a tf.data iterator: TensorFlow waits there for the thread
# that tunes the pipeline, which may sleep for up to a minute (seen on 2.21, without unslow too).
ITERATOR_END = "iterator's end"
MODULE_IMPORT = "import"  # a package is being imported below the user's line


class StackSeen(Fact, probe="engine", kind="stack"):
    """A stack that samples found; they refer to it by number."""

    id: int
    stack: Stack
    leaf: str  # "python", a name above, or the library that was running below the user's line
    phase: int = 10
    trains: bool = True


class Samples(Fact, probe="engine"):
    """Stack samples since the last such fact."""

    since: Moment
    counts: tuple[tuple[int, int], ...]  # number of the stack, samples
    steps: int = 0


class Tick(Fact, probe="engine"):
    """What the watcher read from the system's counters; NaN where the system does not have one."""

    steps: float = _UNKNOWN
    own_cpu: float = 0.0  # nanoseconds of processor time of the watcher's thread
    watcher: bool = False  # whether it was read on that thread
    rss: float = _UNKNOWN
    minor_faults: float = _UNKNOWN
    major_faults: float = _UNKNOWN
    user_cpu: float = _UNKNOWN  # seconds
    system_cpu: float = _UNKNOWN
    threads: float = _UNKNOWN
    read_bytes: float = _UNKNOWN
    write_bytes: float = _UNKNOWN
    read_chars: float = _UNKNOWN
    write_chars: float = _UNKNOWN
    available: float = _UNKNOWN  # bytes of memory that the machine has left
    swap_used: float = _UNKNOWN
    memory_stall: float = _UNKNOWN  # seconds in which some task waited for memory
    io_stall: float = _UNKNOWN
    group_bytes: float = _UNKNOWN  # memory of the control group
    throttled: float = _UNKNOWN  # seconds without a processor because of the group's quota
    machine_cpu: float = _UNKNOWN  # seconds of processor time of the whole machine
    steal: float = _UNKNOWN
    waited: float = _UNKNOWN  # seconds that the main thread waited for a processor
    ran: float = _UNKNOWN  # seconds that it had one
    blocks: float = _UNKNOWN  # allocated blocks of Python's allocator
    heap_used: float = _UNKNOWN  # bytes of the C allocator
    heap_slack: float = _UNKNOWN


class ProbeState(Fact, probe="engine", kind="probe"):
    """A probe was lost."""

    name: str
    state: str


class SourceKept(Fact, probe="engine", kind="source"):
    """A file of the user's was copied into the run folder."""

    file: FilePath
    digest: str  # the name of the copy


class LowestRate(Fact, probe="engine"):
    """The verdict is known: from here on steps and counters are recorded, and nothing else."""

    steps: int = 0  # updates so far


class End(Fact, probe="engine"):
    """The process ended in order; one that was killed has none."""

    how: str  # "exit" or the uncaught exception
    probes: Mapping[str, str] = {}  # name → "armed" or "lost: why"
    peak_rss: float = 0.0
    looks: Mapping[str, float] = {}  # nanoseconds of inspections by probe
    inspections: Duration = 0.0
    rows: Duration = 0.0  # closing rows
    calls: float = 0.0  # wrapped calls
    call_cost: Duration = 0.0  # of one of them
    samples: float = 0.0
    keras: str = ""
    threads: int = 0
    recorder_bytes: float = 0.0  # memory that the recorder took before the program began

    KEYS: ClassVar[Mapping[str, str]] = {"inspections": "looks_ns"}


class Unwritten(Fact, probe="engine"):
    """A fact that could not be written."""

    KEYS: ClassVar[Mapping[str, str]] = {"of": "kind"}

    of: str  # its kind
    why: str = ""
