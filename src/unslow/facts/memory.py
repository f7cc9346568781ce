"""Facts about memory: who holds it, what is made, and what the garbage collector does."""

from __future__ import annotations

from unslow.facts.schema import (
    Duration,
    Fact,
    FilePath,
    Place,
    Record,
    Stack,
    Tally,
    Thinned,
)


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


class Captured(Record):
    """Functions of one place that TensorFlow keeps for a pipeline, and the arrays they close
    over."""

    place: Place  # of the function's code
    functions: int = 0
    bytes: float = 0.0


class ModelCall(Record):
    """A Keras model that the user calls eagerly with data, outside of any gradient tape."""

    name: str = ""  # its class
    rows: int = 0  # of the first array or tensor that it was given
    stack: Stack = ()  # the line that calls it


class Unnamed(Record):
    """Tensors made lately that no name of the user's holds: intermediate results."""

    bytes: float = 0.0  # of all of them
    largest: float = 0.0
    shape: tuple[int, ...] = ()  # of the largest


class Inventory(Fact, probe="inventory"):
    """What the user's names held when the process had grown to a new size, the largest first."""

    step: int = 0
    rss: float = 0.0
    stack: Stack = ()
    held: tuple[Holding, ...] = ()
    captured: tuple[Captured, ...] = ()
    call: ModelCall | None = None  # under way; names of its own functions are not among `held`
    unnamed: Unnamed | None = None
    complete: bool = True  # False: the time for an inspection was over before everything was seen


class MemoryHigh(Fact, probe="inventory"):
    """The process's memory reached a new high; `stack` is where the program was just after it."""

    bytes: float = 0.0  # the highest so far, by the kernel's own account
    rss: float = 0.0  # what was in use when it was noticed
    step: int = 0
    stack: Stack = ()
    leaf: str = ""  # "python", or the library that was running below the user's line
    phase: int = 10
    op: str = ""  # the eager op under way, by its function in TensorFlow: `mat_mul`


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
    penalized: bool = False  # the loss has a penalty on all of the table, which fills the gradient
    built_by: tuple[str, ...] = ()  # names of the ops that build a dense gradient


class Weights(Thinned, probe="weights"):
    """What an optimizer updates, or a gradient tape (then `optimizer` is empty) differentiates
    by."""

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


class Made(Tally, probe="objects"):
    """Running totals of what a line makes; `amount` is the bytes of variables."""

    what: str  # variable, metric, optimizer, model or compile
    alive: int = 0  # of those made since the first step
    first: int = 0  # steps before the first one was made


class Model(Thinned, probe="objects"):
    """A model was made; written after the first step that follows."""

    model: int = 0  # its number
    name: str = ""  # of its class
    weights: str = ""  # how many, and a digest of their shapes
    optimizer: str = ""
    step: int = 0
    ago: Duration = 0.0  # how long before it was written
    stack: Stack = ()


class Compile(Thinned, probe="objects"):
    """`compile()` was called."""

    model: int = 0  # number of the model
    optimizer: str = ""
    weights: int = 0  # how many there are so far
    step: int = 0
    stack: Stack = ()


class Wide(Thinned, probe="weights"):
    """A float64 variable was made."""

    name: str = ""
    bytes: float = 0.0
    stack: Stack = ()


class Floatx(Thinned, probe="weights"):
    """Keras's default precision was set."""

    value: str
    stack: Stack = ()


class Live(Thinned, probe="live"):
    """Tensors that Python keeps alive, counted when the process has clearly grown."""

    step: int
    tensors: int = 0
    bytes: float = 0.0
    rss: float = 0.0


class Broadcast(Thinned, probe="broadcasts"):
    """An op of a traced graph makes a tensor far larger than its inputs, and all that comes of it
    is a reduction."""

    name: str  # of the traced function
    op: str = ""  # its type
    shape: tuple[int, ...] = ()
    bytes: float = 0.0
    copies: int = 1  # tensors of this size up to the reduction, itself included
    result: float = 0.0  # bytes that are left of it
    stack: Stack = ()
    step: int = 0


class Sizes(Fact, probe="sizes"):
    """Items in the program's containers while a line of Python was hot."""

    place: Place
    step: int = 0
    sizes: tuple[tuple[str, int], ...] = ()  # name and items, the largest first


class Container(Record):
    """A container of the user's that grows, or an array that is recreated ever longer."""

    path: str  # as the user would write it
    file: FilePath = ""
    function: str = ""
    kind: str = ""  # its type; `cache` for what functools.cache keeps
    length: int = 0
    bytes: float = 0.0
    element: str = ""  # what its latest elements are
    bounded: bool = False  # it drops old elements by itself
    line: int = 0  # of a cache: the function's first line


class Containers(Thinned, probe="memory"):
    """The user's containers that had grown since the last inspection, the largest first."""

    step: int = 0
    found: tuple[Container, ...] = ()


class Batch(Thinned, probe="batches"):
    """An eager model was called with shapes that it had not seen."""

    name: str = ""
    shapes: tuple[tuple[int, ...], ...] = ()
    distinct: int = 0  # so far
    step: int = 0
