"""Facts about input: tf.data pipelines, their iterators, and the Python that makes batches."""

from __future__ import annotations

from unslow.facts.schema import Duration, Fact, FilePath, Place, Record, Stack, Tally, Thinned

ENDLESS, UNKNOWN_LENGTH = -1, -2  # lengths of a dataset, as TensorFlow writes them


class Next(Tally, probe="input"):
    """Batches were fetched in Python at a line; `amount`: numbers in their first tensors."""


class BuiltStage(Record):
    """A transformation of a dataset as the program requested it."""

    kind: str  # the class of the dataset: "Map", "ParallelMap", "Batch"
    stack: Stack = ()
    inputs: tuple[int, ...] = ()  # positions in the list of stages
    buffer_size: int | None = None
    batch_size: int | None = None
    count: int | None = None  # of a repetition or a `take`
    file: FilePath = ""  # of a cache
    length: int = -2  # elements in a pass
    bytes: int = 0  # of an element; 0 where its shape is not known
    function: Place | None = None
    types: tuple[str, ...] = ()  # of the ops in its function
    scalars: bool = False  # all of its constants are scalars
    python: bool = False
    random: bool = False
    files: bool = False  # it reads files
    tokens: tuple[str, ...] = ()  # of its Python functions; see `PythonFunction`


class Dataset(Fact, probe="pipeline"):
    """A pipeline as the program built it, once for pipelines that the same lines build."""

    dataset: int
    stages: tuple[BuiltStage, ...]  # from the one that gives batches to the sources


class IteratorMade(Thinned, probe="pipeline", kind="iterator"):
    """An iterator over a dataset was made; `key`: the lines that made it."""

    iterator: int
    dataset: int
    stack: Stack = ()
    step: int = 0
    evaluates: bool = False
    in_fit: bool = False  # Keras made it
    graph: bool = False  # a TensorFlow 1 graph holds it: it has no model that can be read
    sources: int = 1  # times that the pipeline itself was built so far


class ModelNode(Record):
    """One node of tf.data's model of a running pipeline; figures since its iterator was made."""

    id: int
    name: str  # as TensorFlow runs it: "MapAndBatch", "ParallelMapV2"
    inputs: tuple[int, ...] = ()
    elements: float = 0.0  # given to the node above
    busy: float = 0.0  # nanoseconds of all threads, which `seconds` converts
    buffered: float = 0.0
    buffered_bytes: float = 0.0
    produced: float = 0.0  # bytes
    asynchronous: bool = False  # works in threads of its own
    parallelism: float = 1.0
    parallelism_tuned: bool = False  # AUTOTUNE chose it

    @property
    def seconds(self) -> float:
        return self.busy / 1e9


class PipelineReading(Fact, probe="pipeline", kind="pipeline"):
    """What the model of an iterator said so far."""

    iterator: int
    dataset: int
    evaluates: bool = False
    step: int = 0
    elements: int = 0  # batches given out
    wait: Duration = 0.0  # in GetNext, over `over` batches
    over: int = 0
    fetches: int = 0  # batches that Python fetched
    fetch: Duration = 0.0  # in those fetches
    nodes: tuple[ModelNode, ...] = ()
    cpu_budget: int = 0
    ram_budget: float = 0.0  # bytes that tf.data allows itself for buffers


# Why no iterator of a process has a model.
NO_MODELS = "TensorFlow before 2.17 does not show the models of its iterators"


class NoPipeline(Fact, probe="pipeline"):
    """An iterator has no model: autotuning is off, or TensorFlow is older than 2.17."""

    iterator: int
    dataset: int
    why: str = ""


class PythonFunction(Fact, probe="python_functions"):
    """A Python function that TensorFlow's threads call, with running totals."""

    token: str  # TensorFlow's name for it in a graph
    place: Place
    count: int = 0
    took: Duration = 0.0
    ran: Duration = 0.0  # on a processor
    queued: Duration = 0.0  # waiting for a processor, over `observed` seconds of `took`
    observed: Duration = 0.0
    step: int = 0


class PythonLine(Fact, probe="python_functions"):
    """Where such a function spends its time, with running totals."""

    token: str
    stack: Stack
    count: float = 0.0  # samples; milliseconds where it was traced
    way: str = "sampled"  # "workers": samples of other threads; "traced": calls too short to sample


class PythonElements(Fact, probe="python_functions"):
    """Whether such a function makes the same again, by samples of the bytes that it made."""

    token: str
    compared: int = 0  # elements that were made a second time: of later passes, of equal inputs
    same: bool = False
    generator: bool = False
    reordered: bool = False  # a generator's later passes had another order
    elements: int = 0  # in a pass of a generator
    bytes: float = 0.0  # of these
