"""Facts about memory: who holds it, what is made, and what the garbage collector does."""

from __future__ import annotations

from unslow.facts.schema import Duration, Fact, FilePath, Record, Stack, Thinned


class Gc(Thinned, probe="gc"):
    """A garbage collection of more than a millisecond."""

    generation: int = 0
    collected: int | None = None
    asked: bool = False  # somebody called gc.collect(); Python's own come past its thresholds
    stack: Stack = ()  # the user's line that asked


class Holding(Record):
    """Memory that one of the user's names holds: an array, a tensor, or a container of some."""

    path: str  # as the user would write it: `x`, `self.cache['train']`
    file: FilePath = ""
    function: str = ""  # whose local it is; <module> for a global
    type: str = "array"  # array, tensor, or the container's type
    bytes: float = 0.0
    dtype: str = ""
    shape: tuple[int, ...] = ()  # of a container: its length, then the shape of an element
    one_hot: bool = False  # every row that was sampled has a single one and zeros
    fed: str = ""  # the Keras call under way that it was given to: fit, evaluate, predict


class Inventory(Fact, probe="inventory"):
    """What the user's names held when the process had grown to a new size, the largest first."""

    step: int = 0
    rss: float = 0.0
    stack: Stack = ()
    held: tuple[Holding, ...] = ()
    complete: bool = True  # False: the time for an inspection was over before everything was seen


class MemoryHigh(Fact, probe="inventory"):
    """The process's memory reached a new high; `stack` is where the program was just after it."""

    bytes: float = 0.0  # the highest so far, by the kernel's own account
    rss: float = 0.0  # what was in use when it was noticed
    step: int = 0
    stack: Stack = ()


class Built(Thinned, probe="objects"):
    """A burst of things made in one go."""

    what: str = ""  # device, variables or slots
    count: int = 0
    bytes: float = 0.0
    tracing: bool = False
    step: int = 0
    ago: Duration = 0.0  # how long before it was written the last of them was made


class Table(Record):
    """A variable whose gradient touches a few rows only, or was put together from a few."""

    name: str = ""
    rows: int = 0
    bytes: float = 0.0
    touched: int = 0  # rows in a step; 0 where the shape is not known
    dense: bool = False  # the gradient itself has all rows


class Weights(Thinned, probe="weights"):
    """What an optimizer updates, or a gradient tape (then `optimizer` is empty) differentiates by."""

    optimizer: str = ""
    scope: str = ""  # the optimizer's name in the graph
    variables: float = 0.0
    bytes: float = 0.0
    wide_bytes: float = 0.0  # of float64 weights
    tables: tuple[Table, ...] = ()
    momentum: bool = False
    made: Stack = ()  # where the optimizer was made
    stack: Stack = ()
    ops_float64: int = 0  # ops of the graph under construction, by precision
    ops_float32: int = 0
    ops_float16: int = 0
    ops_bfloat16: int = 0
