"""Nothing grows, but the peak of memory is far larger than needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from unslow.analyse import wording as say
from unslow.analyse.memory.account import (
    WORTH_NAMING,
    MemoryAccount,
    is_worth_freeing,
    memory_account,
)
from unslow.analyse.memory.cut import Cut, Reason
from unslow.analyse.memory.cuts import READS, cuts_of
from unslow.analyse.sketches.pipelines import Made, pipeline_facts
from unslow.analyse.sketches.sketch import Placed, Sketch, at, stack_at
from unslow.cause import Cause
from unslow.facts.data import BuiltStage
from unslow.facts.functions import Constants, Trace, UnusualCall
from unslow.facts.keras import Fit, Prediction, Validation
from unslow.facts.memory import (
    Broadcast,
    Holding,
    Inventory,
    MemoryHigh,
    ModelCall,
    Unnamed,
    Weights,
)
from unslow.facts.schema import Fact, Place
from unslow.fix.edit.script import Script
from unslow.fix.edit.statements import insert_after
from unslow.fix.moves.call_arguments import rename_call, set_keyword
from unslow.fix.moves.constants_outside import constants_outside
from unslow.fix.moves.dataset_cache import repeat_behind_cache
from unslow.fix.moves.dataset_pipeline import work_ahead_tuned
from unslow.fix.moves.float32 import narrow
from unslow.fix.moves.pairwise_distances import pairwise_distances
from unslow.fix.moves.predict_instead import predict_instead
from unslow.fix.moves.smaller_slices import keeps_rows, smaller_slices
from unslow.fix.moves.sparse_labels import sparse_labels
from unslow.model import (
    Certainty,
    Evidence,
    Finding,
    Fix,
    Location,
    Phase,
    Refusal,
    Run,
    Safety,
)

_WHOLE = "predict_on_batch"
_LEAST_DROPPED = 0.5  # of what a copy holds: a fix that frees less does not keep the promise

_WORDS = {
    Reason.ONE_HOT: "`{name}` holds one-hot rows of {instead} columns; integer labels take one "
    "number a row",
    Reason.WIDE: "`{name}` is float64, and the model computes in float32",
    Reason.COPY: "`{name}` stays in memory although only `{instead}`, which is made from it, is "
    "used",
    Reason.BATCH: "`{name}` runs a batch far larger than the {instead} rows of training",
    Reason.ONE_BATCH: "`{name}` runs all of its rows as one batch; training uses {instead}",
    Reason.VALIDATION: "the validation in `fit` runs batches of {name} rows; training uses "
    "{instead}",
    Reason.ONE_ELEMENT: "the dataset has a single element of {name}: each op on it holds all of "
    "the data",
    Reason.CONSTANT: "{name} of arrays are baked into a graph, which keeps several copies",
    Reason.REPEATED: "a cache of {name} holds {instead} passes over the same data, and serves none "
    "of them: it stands behind `repeat`",
    Reason.PREFETCH: "a prefetch holds {instead} elements ahead, {name}; a few would do",
    Reason.CALL: "a call of `{name}` holds the activations of all {rows} rows at once",
    Reason.COMPILED: "a call of `{name}` runs {rows} rows at once; a training step uses {instead}",
    Reason.OPS: "eager ops make a tensor of {name} that only a smaller result is made from",
    Reason.BROADCAST: "a tensor of {name} is made by broadcasting, only to be reduced to {instead}",
}
_ADVICE = {
    Reason.ONE_HOT: "Keep the integers and use the sparse loss "
    "(`sparse_categorical_crossentropy`).",
    Reason.WIDE: 'Make it float32 where it begins: `dtype="float32"` or `.astype("float32")`.',
    Reason.COPY: "Fill `{instead}` in place (`np.empty`, then row by row) instead of collecting "
    "`{name}` first; `del {name}` frees what comes on top later.",
    Reason.BATCH: "Pass `batch_size={instead}`: the results are the same.",
    Reason.ONE_BATCH: "Call `predict` or `evaluate` with `batch_size={instead}`: the results are "
    "the "
    "same.",
    Reason.VALIDATION: "Give `fit` `validation_batch_size={instead}`: the results are the same.",
    Reason.ONE_ELEMENT: "Use `from_tensor_slices` and `batch` before the `map`: then one batch "
    "is held.",
    Reason.CONSTANT: "Pass the arrays as arguments, look rows up outside of the function, or keep "
    "them in a `tf.Variable(..., trainable=False)`.",
    Reason.REPEATED: "Put `repeat`, and a shuffle if there is one, behind `cache`: it then holds "
    "one pass, and the later ones are read from it.",
    Reason.PREFETCH: "Let TensorFlow choose: `prefetch(tf.data.AUTOTUNE)` holds a few elements.",
    Reason.CALL: "Call `predict` with `batch_size={instead}`, or loop over slices of {instead} "
    "rows: it would need about {needs}.",
    Reason.COMPILED: "Call it with slices of {instead} rows and join the results (a mean is to be "
    "weighted by the rows of each slice): it would need about {needs}.",
    Reason.OPS: "Go over the rows in blocks, in a loop over slices or by `tf.map_fn`, and keep the "
    "reduced results: blocks of {instead} rows would need about {needs}.",
    Reason.BROADCAST: "Reduce it without the large tensor: squared distances are "
    "`|a|² + |b|² - 2·a·b`, which is a `tf.matmul`. Otherwise go over the rows in chunks: then one "
    "chunk is held.",
}


class MemoryPeak(Cause):
    """
    What happens
    Memory does not grow with the steps, but at its peak the process holds far more than needed:
    labels as a one-hot matrix, float64 data for a float32 model, copies that are no longer read,
    one huge batch in `predict`, a dataset whose only element is all of the data, arrays baked
    into a graph, a model called as a function with all rows at once, a compiled function that
    validates with far more rows than a step, all pairs of two sets of rows as one tensor that is
    then summed up, a tf.data `cache` behind a `repeat`, which keeps every pass and serves none, a
    `prefetch` of hundreds.

    Why it is slow
    It is not, until memory is full: then the machine swaps or the process is killed. The peak
    also decides how large a machine the training needs.

    The fix
    Keep integer labels and use the sparse loss, create arrays as float32, drop what is no longer
    read, give `predict` and `evaluate` a batch size, call `predict` in place of the model, slice
    and batch a dataset before mapping, pass arrays as arguments, compute pairwise distances by a
    matmul or chunk by chunk, repeat a dataset after caching it.

    When we are wrong
    What each change would free is an estimate, from the sizes seen and from what no other part of
    the peak explains. Data that the program needs is never reported, however large it is: a cache
    that holds one pass is meant to be read in the next.
    """

    title = "the peak of memory is larger than needed"
    reads = READS
    from_the_start = "memory may have been at its peak before"

    def detect(self, run: Run) -> Iterable[Finding]:
        account = memory_account(run)
        if account is None:
            return
        found = cuts_of(run, account)
        if not is_worth_freeing(account, sum(cut.frees for cut in found)):
            return
        for number, cut in enumerate(found):
            if number == 0 or cut.frees >= WORTH_NAMING * account.peak:
                yield self._finding(account, cut)

    def _finding(self, account: MemoryAccount, cut: Cut) -> Finding:
        words = {name: getattr(cut, name) for name in ("name", "instead", "rows", "needs")}
        frees = min(cut.frees, account.peak - account.start)
        return Finding(
            cause=self.id,
            title=f"{_WORDS[cut.reason].format(**words)}: "
            f"≈{say.size(frees)} of the {say.size(account.peak)} at the peak",
            location=cut.location,
            seconds=0.0,
            frees=frees,
            certainty=Certainty.LIKELY,
            evidence=(
                Evidence("peak of memory", account.peak, "bytes"),
                Evidence("of it after the import of TensorFlow", account.start, "bytes"),
                Evidence("could be freed", frees, "bytes"),
                Evidence("the peak was reached at", str(account.at) if account.at else "unknown"),
                Evidence("reason", cut.reason.value),
                *_copied(cut),
            ),
            advice=_ADVICE[cut.reason].format(**words),
            detail=cut,
        )

    def fix(self, finding: Finding, script: Script) -> Fix | Refusal | None:
        cut = finding.detail_of(Cut)
        make = _FIXES.get(cut.reason)
        return make(script, finding.place, cut) if make is not None else None


def _copied(cut: Cut) -> Iterator[Evidence]:
    if cut.copies:
        yield Evidence("copies of it, counted with it", ", ".join(cut.copies))


def _batch(script: Script, where: Location, cut: Cut) -> Fix:
    position = 1 if cut.name == "predict" else 2
    fixed = set_keyword(script, where.line, cut.name, "batch_size", cut.instead, position=position)
    title = f"`{cut.name}` in batches of {cut.instead} rows"
    return Fix(title, Safety.CLOSE, {where.file: fixed.text})


def _validate_in_batches(script: Script, where: Location, cut: Cut) -> Fix:
    fixed = set_keyword(script, where.line, "fit", "validation_batch_size", cut.instead)
    title = f"validate in batches of {cut.instead} rows"
    return Fix(title, Safety.CLOSE, {where.file: fixed.text})


def _predict_in_batches(script: Script, where: Location, cut: Cut) -> Fix | None:
    if cut.name != _WHOLE:
        return None
    fixed = rename_call(script, where.line, _WHOLE, "predict")
    fixed = set_keyword(fixed, where.line, "predict", "batch_size", cut.instead)
    fixed = set_keyword(fixed, where.line, "predict", "verbose", "0")
    title = f"`predict` in batches of {cut.instead} rows"
    return Fix(title, Safety.CLOSE, {where.file: fixed.text})


def _predict_instead(script: Script, where: Location, cut: Cut) -> Fix:
    fixed = predict_instead(script, where.line, cut.instead)
    title = f"`predict` in batches of {cut.instead} rows"
    return Fix(title, Safety.CLOSE, {where.file: fixed.text})


def _slice_smaller(script: Script, where: Location, cut: Cut) -> Fix:
    fixed = smaller_slices(script, where.line, int(cut.instead))
    title = f"call `{cut.name}` with {cut.instead} rows at once"
    if keeps_rows(script, where.line):
        return Fix(title, Safety.CLOSE, fixed.files)
    note = "What is computed of each slice as a whole, such as a mean, is of fewer rows then."
    return Fix(title, Safety.REVIEW, fixed.files, note)


def _drop(script: Script, where: Location, cut: Cut) -> Fix | Refusal:
    if cut.dropped < _LEAST_DROPPED * cut.frees:
        why = f"`{cut.name}` and `{cut.instead}` are both needed while `{cut.instead}` is made"
        return Refusal(f"{why}: dropping it later frees little", where)
    fixed = insert_after(script, cut.after, f"del {cut.name}")
    title = f"drop `{cut.name}` once nothing reads it any more"
    return Fix(title, Safety.EXACT, {where.file: fixed.text})


def _narrow(script: Script, where: Location, _: Cut) -> Fix:
    note = "Numbers then keep 7 digits instead of 16."
    title = "make it float32 where float64 begins"
    return Fix(title, Safety.REVIEW, {where.file: narrow(script).text}, note)


def _let_tensorflow_choose(script: Script, where: Location, _: Cut) -> Fix | Refusal | None:
    return work_ahead_tuned(script, where.line)


def _repeat_cached(script: Script, where: Location, cut: Cut) -> Fix | Refusal | None:
    cache = cut.cache
    if cache is None or cache.repeat is None:
        return None
    if cache.obstacle:
        return Refusal(cache.obstacle, where)
    if cache.repeat.file != where.file:
        return Refusal(f"the repetition is built in another file, {cache.repeat.file}", where)
    return repeat_behind_cache(script, cache.repeat.line, where.line)


def _sparse(script: Script, where: Location, cut: Cut) -> Fix:
    fixed = sparse_labels(script, where.line, cut.name)
    return Fix(
        "keep integer labels and use the sparse loss",
        Safety.REVIEW,
        {where.file: fixed.text},
        note=f"`{cut.name}` then holds integers: what else reads its columns must change as well.",
    )


def _without_pairs(script: Script, where: Location, _: Cut) -> Fix:
    note = (
        "Distances that are tiny beside the vectors keep fewer digits: the distance of a vector to "
        "itself may no longer be 0."
    )
    fixed = pairwise_distances(script, where.line)
    title = "compute the distances of all pairs by a matrix product"
    return Fix(title, Safety.REVIEW, {where.file: fixed.text}, note)


def _outside(script: Script, where: Location, _: Cut) -> Fix:
    fixed = constants_outside(script, where.line)
    title = "make the arrays tensors once, outside of the function"
    return Fix(title, Safety.EXACT, fixed.files)


_FIXES: dict[Reason, Callable[[Script, Location, Cut], Fix | Refusal | None]] = {
    Reason.BATCH: _batch,
    Reason.VALIDATION: _validate_in_batches,
    Reason.ONE_BATCH: _predict_in_batches,
    Reason.CALL: _predict_instead,
    Reason.COMPILED: _slice_smaller,
    Reason.COPY: _drop,
    Reason.WIDE: _narrow,
    Reason.REPEATED: _repeat_cached,
    Reason.PREFETCH: _let_tensorflow_choose,
    Reason.ONE_HOT: _sparse,
    Reason.BROADCAST: _without_pairs,
    Reason.OPS: _without_pairs,
    Reason.CONSTANT: _outside,
}

_SOURCE = """\
images = load()
x = np.array(images)
y = to_categorical(labels)
model.fit(x, y)
p = model.predict(x, batch_size=len(x))
"""


def _high(step: int, size: float, line: int = 4) -> Placed:
    return at(step, MemoryHigh(bytes=size, rss=size, stack=(Place("train.py", line, "<module>"),)))


def _held(path: str, size: float, **more: object) -> Holding:
    given = {"dtype": "float32", "shape": (1000, int(size / 4000)), **more}
    usual = Holding(path=path, file="train.py", function="<module>", bytes=size)
    held: Holding = usual.replace(**given)
    return held


def _sketch(says: str, *held: Holding, wide: float = 0.0) -> Sketch:
    facts = [
        _high(1, 2e9),
        at(1, Inventory(step=1, rss=2e9, held=held)),
        at(1, Weights(optimizer="Adam", bytes=1e6, wide_bytes=wide)),
    ]
    ticks = {"rss": [5e8, 1.9e9, 1.9e9]}
    return Sketch(says, facts=facts, ticks=ticks, source=_SOURCE, style="keras")


_PREDICTED = Prediction(call="predict", rows=4000.0, took=0.5, stack=stack_at(5))
_VALIDATED = Validation(rows=4000.0, took=0.5, stack=stack_at(5))


def _in_batches(says: str, call: Fact, batch: float | None, after: float = 0.0) -> Sketch:
    """A call that takes memory to its peak; `after` bytes are reached after it."""
    facts = [at(0, Fit(batch_size=32)), _high(1, 8e8), _high(88, 1.4e9, line=5)]
    facts.append(at(90, call.replace(batch_size=batch)))
    if after:
        facts.append(_high(95, after, line=6))
    ticks = {"rss": [5e8, 8e8, 1.4e9]}
    return Sketch(says, facts=facts, ticks=ticks, source=_SOURCE, style="keras")


def _constant(size: float) -> Sketch:
    line = Place("train.py", 4, "step")
    baked = Constants(
        name="step", place=line, count=1, bytes=int(size), largest=int(size), stack=(line,)
    )
    ticks = {"rss": [5e8, 1.9e9]}
    return Sketch("a constant", facts=[_high(1, 2e9), at(1, baked)], ticks=ticks, source=_SOURCE)


def _broadcast(says: str, size: float, copies: int, peak: float = 2.5e9) -> Sketch:
    made = Broadcast(
        name="distances",
        op="Sub",
        shape=(1200, 1600, 128),
        bytes=size,
        copies=copies,
        result=7e6,
        stack=stack_at(2, "distances"),
    )
    facts = [at(0, made), _high(1, peak)]
    return Sketch(says, facts=facts, ticks={"rss": [5e8, peak]}, source=_SOURCE)


_CALLED = """\
model = keras.Sequential(layers())
features = model(images, training=False).numpy()
for rows in batches:
    features = model(rows, training=False).numpy()
"""
_MADE = Unnamed(bytes=1.4e9, largest=7e8, shape=(6000, 6000, 5))


def _in_call(
    says: str,
    seen: Inventory,
    op: str = "conv2d",
    line: int = 2,
    after: float = 0.0,
    left: Unnamed | None = None,
) -> Sketch:
    """Memory reaches 2 GB in a line that calls an op before any step, and `after` later."""
    leaf = "tensorflow" if op else "numpy"
    high = MemoryHigh(bytes=2e9, rss=2e9, stack=stack_at(line), leaf=leaf, op=op)
    facts = [at(0, high), at(0, seen.replace(stack=stack_at(line)))]
    facts.append(at(50, Inventory(unnamed=left)))
    if after:
        facts.append(_high(50, after))
    return Sketch(says, facts=facts, ticks={"rss": [5e8, 2e9, 2e9]}, source=_CALLED)


def _model_call(rows: int, line: int = 2) -> Inventory:
    return Inventory(call=ModelCall(name="Sequential", rows=rows, stack=stack_at(line)))


def _compiled_call(
    says: str,
    rows: int,
    step: int = 16,
    weights: str = "16 from #50",
    again: float = 0.0,
    row: tuple[int, ...] = (64, 64),
) -> Sketch:
    """A compiled function, called among the steps with some rows, in which memory reaches 2 GB.

    With `again` it is one of its later calls that takes the memory so far.
    """
    update, forward = stack_at(12), stack_at(20, "validate")
    trace = Trace(name="step", function=1, updates=True, weights="50 from #50")
    called = UnusualCall(name="step", function=1, why=("first",), shapes=((step, 64, 64),))
    validate = UnusualCall(name="forward", function=2, why=("first",), shapes=((rows, *row),))
    first = again or 2e9
    grown = MemoryHigh(bytes=first, rss=first, stack=forward, leaf="tensorflow", phase=Phase.RUN)
    facts = [
        at(1, trace),
        at(1, called.replace(stack=update)),
        at(1, MemoryHigh(bytes=8e8, rss=8e8, stack=update, leaf="tensorflow", phase=Phase.RUN)),
        at(50, Trace(name="forward", function=2, weights=weights)),
        at(50, grown),
        at(51, validate.replace(took=0.005, stack=forward)),
    ]
    if again:
        facts.append(at(90, grown.replace(bytes=2e9, rss=2e9)))
    return Sketch(says, facts=facts, ticks={"rss": [5e8, 8e8, first, 2e9]}, style="function")


_CACHED = """\
ds = tf.data.Dataset.from_tensor_slices(paths)
ds = ds.repeat(4)
ds = ds.map(load)
ds = ds.cache()
ds = ds.batch(10)
"""


def _prefetched(says: str, elements: float, size: float) -> Sketch:
    """A prefetch that was asked for 500 batches and holds some."""
    asked = BuiltStage(kind="Prefetch", buffer_size=500)
    ahead = Made("Prefetch", line=5, bytes=size / elements, buffered=elements, asked=asked)
    source = Made("TensorSlice", 1e-5, line=1, asked=BuiltStage(kind="TensorSlice", length=100))
    facts = [*pipeline_facts(source, ahead, wait=1e-5), _high(50, 2e9)]
    return Sketch(says, facts=facts, ticks={"rss": [5e8, 1.9e9, 1.9e9]}, source=_AHEAD)


_AHEAD = "ds = load()\n\n\n\nds = ds.prefetch(500)\n"


def _cached(says: str, repeat: int, passes: float, buffered: float = 9e8) -> Sketch:
    """A cache behind a repetition of 100 elements; `repeat` 1: it stands behind the cache."""
    stages = [
        ("TensorSlice", BuiltStage(kind="TensorSlice", length=100)),
        ("Repeat", BuiltStage(kind="Repeat", count=repeat, length=100 * repeat)),
        ("Map", BuiltStage(kind="Map", length=100 * repeat, function=Place("train.py", 3, "load"))),
        ("Cache", BuiltStage(kind="Cache", length=100 * repeat)),
        ("Batch", BuiltStage(kind="Batch", batch_size=10, length=10 * repeat)),
    ]
    made = []
    for line, (kind, asked) in enumerate(stages, start=1):
        held = 100 * passes if kind == "Cache" else 0
        size = buffered / held if held else 1000
        name = "MemoryCacheImpl" if kind == "Cache" else kind
        made.append(
            Made(kind, 1e-5, name, elements=10, bytes=size, buffered=held, line=line, asked=asked)
        )
    facts = [*pipeline_facts(*made, wait=1e-5), _high(50, 2e9)]
    return Sketch(says, facts=facts, ticks={"rss": [5e8, 1.9e9, 1.9e9]}, source=_CACHED)


MemoryPeak.FIRES = (
    _sketch("one-hot labels", _held("y", 6e8, one_hot=True, fed="fit")),
    _sketch("float64 data for a float32 model", _held("x", 8e8, dtype="float64", fed="fit")),
    _sketch(
        "a list beside the array that is made from it",
        _held("images", 8e8, type="list"),
        _held("x", 8e8, fed="fit"),
    ),
    _in_batches("predict runs all rows as one batch", _PREDICTED, 4000.0),
    _in_batches("the same, and memory rises a little later", _PREDICTED, 4000.0, after=1.45e9),
    _in_batches(
        "predict_on_batch with all rows", _PREDICTED.replace(call="predict_on_batch"), None
    ),
    _in_batches("a validation that runs all rows as one batch", _VALIDATED, 4000.0),
    _constant(3e8),
    _broadcast("all pairs of rows as one tensor", 9.8e8, copies=2),
    _in_call("a model called with all rows at once", _model_call(4000)),
    _compiled_call("a validation with all rows by one call of a compiled function", rows=640),
    _in_call("all pairs of rows as one eager tensor", Inventory(unnamed=_MADE), op="sub"),
    _cached("a cache behind a repetition holds four passes", 4, passes=4),
    _prefetched("500 large batches ahead", 500, 9e8),
)
MemoryPeak.QUIET = (
    _sketch("large data that is needed", _held("x", 1.4e9, fed="fit")),
    _sketch(
        "float64 data for a model in float64", _held("x", 8e8, dtype="float64", fed="fit"), wide=1e6
    ),
    _sketch("one-hot labels of a few MB", _held("y", 2e7, one_hot=True, fed="fit")),
    _sketch("float64 arrays that are not given to the model", _held("z", 8e8, dtype="float64")),
    _in_batches("predict in batches of 64 rows", _PREDICTED, 64.0),
    _in_batches("all rows as one batch, a far higher peak later", _PREDICTED, 4000.0, after=3e9),
    _in_batches("a validation in batches of 64 rows", _VALIDATED, 64.0),
    _constant(2e6),
    _in_call("a model called with 64 rows", _model_call(64)),
    _in_call("a model called with the batches of a loop", _model_call(4000, line=4), line=4),
    _compiled_call("a compiled validation with the rows of a step", rows=16),
    _compiled_call("a compiled validation with twice the rows of a step", rows=32),
    _compiled_call("a compiled function without the model, as a distance", rows=640, weights=""),
    _compiled_call("a compiled function of another model", rows=640, weights="4 from #90"),
    _compiled_call("a compiled function of other rows than a step's", rows=640, row=(8,)),
    _compiled_call("a compiled validation, and steps with as many rows", rows=640, step=640),
    _compiled_call("a compiled validation whose later calls take more", rows=640, again=9e8),
    _in_call("a call with all rows, a far higher peak later", _model_call(4000), after=4e9),
    _in_call("what TensorFlow allocates at its first use", Inventory(), op="sub"),
    _in_call("a decomposition, which needs all rows", Inventory(unnamed=_MADE), op="cholesky"),
    _in_call("a matrix that is decomposed later", Inventory(unnamed=_MADE), op="sub", left=_MADE),
    _in_call("memory that NumPy took", Inventory(unnamed=_MADE), op=""),
    _in_call(
        "ops on data of the same size",
        Inventory(unnamed=_MADE, held=(_held("x", 5e8),)),
        op="sub",
    ),
    _broadcast("a broadcast that XLA never makes", 9.8e8, copies=2, peak=1.2e9),
    _broadcast("a broadcast, and temporaries that are far larger", 7e8, copies=1),
    _cached("a cache of one pass", 1, passes=1),
    _cached("a cache behind a repetition, in the first pass", 4, passes=1),
    _cached("a small cache behind a repetition", 4, passes=4, buffered=1e8),
    _prefetched("a few huge batches ahead", 10, 9e8),
    _prefetched("500 small batches ahead", 500, 5e7),
)
