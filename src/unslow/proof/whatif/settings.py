"""The settings: how each is requested from outside, where it applies, and the line that keeps
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from unslow.facts.json_object import JsonObject
from unslow.facts.whatif import (
    AccumulationSeen,
    DeterminismAsked,
    LayersMade,
    ModelCompiled,
    OptimizerMade,
    PipelineRead,
    ThreadsSet,
)
from unslow.proof.whatif.survey import Survey, place_of


@dataclass(frozen=True)
class Setting:
    """One other way to run the same script."""

    name: str
    group: str
    asked: JsonObject = field(default_factory=dict)  # of the switches in the training process
    environment: Mapping[str, str] = field(default_factory=dict)
    keep: str = ""  # the line to add
    where: str = ""  # the user's line that it belongs to
    changes: str = ""  # what else is computed: weights are then not compared
    note: str = ""
    why_not: str = ""  # why it cannot apply here, where that is known
    parts: tuple[str, ...] = ()  # of a combination


@dataclass(frozen=True)
class Machine:
    """What decides which settings are worth trying."""

    cores: int
    flags: frozenset[str]  # of the processor
    environment: Mapping[str, str]
    steps: int


GROUPS = (
    "xla",
    "precision",
    "batch",
    "accumulation",
    "execution",
    "threads",
    "data",
    "optimizer",
    "onednn",
    "graph",
    "allocator",
    "determinism",
)
_EAGER = "the updates run eagerly, op by op"
_ALREADY = "it is already set"


def catalogue(seen: Survey, machine: Machine) -> list[Setting]:
    """Every setting, whether or not it applies here."""
    return [setting for make in _MAKERS for setting in make(seen, machine)]


def _first(*reasons: tuple[object, str]) -> str:
    """The first reason whose condition holds, or nothing."""
    return next((reason for holds, reason in reasons if holds), "")


def _xla(seen: Survey, machine: Machine) -> Iterator[Setting]:
    yield _jit_compile(seen)
    own = machine.environment.get("TF_XLA_FLAGS", "")
    flags = f"{own} --tf_xla_auto_jit=2 --tf_xla_cpu_global_jit".strip()
    # At its lowest log level TensorFlow says whether XLA compiled anything.
    yield Setting(
        "auto-cluster",
        "xla",
        environment={"TF_XLA_FLAGS": flags, "TF_CPP_MIN_LOG_LEVEL": "0"},
        keep=f'TF_XLA_FLAGS="{flags}"',
        where="the environment",
        why_not=_first((seen.runs_eagerly, f"{_EAGER}: there is no graph to cluster")),
    )


def _jit_compile(seen: Survey) -> Setting:
    functions = [fact for fact in seen.functions if not fact.jit]
    asked: JsonObject = {}
    keep, where = "@tf.function(jit_compile=True)", place_of(functions)
    if seen.trains_by_keras:
        asked["jit_compile"] = True
        keep, where = "model.compile(…, jit_compile=True)", place_of(seen.of(ModelCompiled))
    if functions:
        asked["functions"] = [fact.place for fact in functions]
    fits_compiled = bool(seen.fits) and all(fact.jit for fact in seen.fits)
    why_not = _first(
        (seen.runs_eagerly, f"{_EAGER}: there is no function to compile"),
        (not asked and seen.has_session, "a Session has no such switch: see auto-cluster"),
        (not asked, "every update is already compiled"),
        (fits_compiled, "fit() is already compiled"),
    )
    return Setting("jit_compile", "xla", asked, keep=keep, where=where, why_not=why_not)


_SUPPORT = {
    "float16": ("avx512_fp16", "amx_fp16"),
    "bfloat16": ("avx512_bf16", "amx_bf16", "avx_ne_convert"),
}
_REWRITES = {"float16": "auto_mixed_precision", "bfloat16": "auto_mixed_precision_onednn_bfloat16"}


def _precision(seen: Survey, machine: Machine) -> Iterator[Setting]:
    for kind, flags in _SUPPORT.items():
        emulated = f"this processor has no {kind} instructions: it emulates them"
        note = _first((not machine.flags & set(flags), emulated))
        make = _keras_policy if seen.of(LayersMade) else _graph_rewrite
        yield make(kind, seen, note)


def _keras_policy(kind: str, seen: Survey, note: str) -> Setting:
    unscaled = kind == "float16" and not seen.trains_by_keras
    more = "  # and scale the loss: keras.optimizers.LossScaleOptimizer" if unscaled else ""
    return Setting(
        f"mixed_{kind}",
        "precision",
        {"policy": f"mixed_{kind}"},
        keep=f'keras.mixed_precision.set_global_policy("mixed_{kind}"){more}',
        where="before the model",
        note=note,
    )


def _graph_rewrite(kind: str, seen: Survey, note: str) -> Setting:
    option = _REWRITES[kind]
    return Setting(
        f"mixed_{kind}",
        "precision",
        {"graph": {option: True}},
        keep=f'tf.config.optimizer.set_experimental_options({{"{option}": True}})',
        where="the first lines",
        note=note,
        why_not=_first((seen.runs_eagerly, "no Keras layers, and no graph to rewrite")),
    )


def _batch(seen: Survey, machine: Machine) -> Iterator[Setting]:
    arrays = [fact for fact in seen.fits if fact.arrays]
    reachable = arrays or seen.batches
    now = seen.examples
    for name, factor in (("batch-half", 0.5), ("batch-x2", 2.0), ("batch-x4", 4.0)):
        size = max(1, round(now * factor))
        yield Setting(
            name,
            "batch",
            {"batch": factor, "inner": seen.inner},
            keep=f"batch_size={size}" if arrays else f".batch({size})",
            where=place_of(reachable),
            changes="other batch",
            why_not=_first(
                (not reachable, "the script makes its batches itself: neither fit() nor batch()"),
                (size == now, "the batch is already 1"),
            ),
        )


def _accumulation(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of(AccumulationSeen)
    size = seen.examples // 4
    arrays = [fact for fact in seen.fits if fact.arrays]
    reachable = bool(arrays or seen.batches) and size > 0
    why_not = _first(
        (not facts, "no optimizer of Keras 3"),
        (any(fact.own for fact in facts), "the script already accumulates"),
    )
    keep, where = "gradient_accumulation_steps=4", place_of(seen.of(OptimizerMade))
    yield Setting(
        "accumulate-4",
        "accumulation",
        {"accumulate": 4},
        keep=keep,
        where=where,
        changes="1 update in 4",
        why_not=why_not,
    )
    yield Setting(
        "accumulate-4-small",
        "accumulation",
        {"accumulate": 4, "batch": 0.25, "inner": seen.inner},
        keep=f"{keep} and a batch of {size}",
        where=where,
        changes="4 small steps",
        why_not=why_not or _first((not reachable, "the batch cannot be cut from outside")),
    )


def _execution(seen: Survey, machine: Machine) -> Iterator[Setting]:
    epoch = next((fact.epoch for fact in seen.fits if fact.epoch), 0)
    steps, uneven = _group(machine.steps, epoch)
    together = max((fact.together for fact in seen.fits), default=1)
    yield Setting(
        "steps_per_execution",
        "execution",
        {"steps_per_execution": steps},
        keep=f"model.compile(…, steps_per_execution={steps})",
        where=place_of(seen.of(ModelCompiled)),
        why_not=_first(
            (not seen.fits, "fit() is not what trains here"),
            (any(fact.eager for fact in seen.fits), "the model runs eagerly"),
            (together > 1, f"it is already {together}"),
            (uneven > _UNEVEN, f"an epoch of {epoch} steps cannot be cut evenly"),
        ),
    )


_UNEVEN = 0.05  # a share of miscounted steps that would pass for a gain
_GROUP_SIZES = (10, 8, 5, 4, 3, 2)
_SHORT_EPOCH = 16


def _group(steps: int, epoch: int) -> tuple[int, float]:
    """How many steps to run at once, and the share of miscounted ones: a last group is short."""
    whole_epoch = (epoch,) if 1 < epoch <= _SHORT_EPOCH else ()
    within = min(steps, epoch) if epoch else steps
    found = []
    for count in (*_GROUP_SIZES, *whole_epoch):
        groups = -(-epoch // count)
        over = groups * count / epoch - 1 if 0 < epoch < steps else 0.0
        divides = within % count == 0 and steps % count == 0
        found.append((over > _UNEVEN, not divides, over, -count))
    _, _, over, count = min(found)
    return -count, over


def _threads(seen: Survey, machine: Machine) -> Iterator[Setting]:
    own = {fact.which: fact.own for fact in seen.of(ThreadsSet)}
    counts = sorted({1, max(1, machine.cores // 2), machine.cores})
    for which in ("intra", "inter"):
        now = own.get(which) or machine.cores
        for count in counts:
            if count == machine.cores == now:
                continue
            yield Setting(
                f"{which}-op-{count}",
                "threads",
                {which: count},
                keep=f"tf.config.threading.set_{which}_op_parallelism_threads({count})",
                where="the first lines",
                why_not=_first((count == now, _ALREADY)),
            )


_MAP = {"experimental_optimization.map_parallelization": True}
_OPTIONS = (
    ("prefetch", {"prefetch": True}, "dataset.prefetch(tf.data.AUTOTUNE)", ""),
    (
        "parallel-map",
        _MAP,
        "options.experimental_optimization.map_parallelization = True",
        "",
    ),
    ("unordered", {"deterministic": False, **_MAP}, "options.deterministic = False", "other order"),
    ("autotune-off", {"autotune.enabled": False}, "options.autotune.enabled = False", ""),
    ("ram-budget", {"autotune.ram_budget": 64 << 20}, "options.autotune.ram_budget = 64 << 20", ""),
)


def _data(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = [fact for fact in seen.of(PipelineRead) if fact.stack]
    reasons = _pipeline_reasons(seen, facts)
    for name, asked, keep, changes in _OPTIONS:
        if keep.startswith("options"):
            keep = f"options = tf.data.Options(); {keep}; dataset = dataset.with_options(options)"
        yield Setting(
            name,
            "data",
            {"data": asked},
            keep=keep,
            where=place_of(facts),
            changes=changes,
            why_not=reasons[""] or reasons.get(name, ""),
        )


def _pipeline_reasons(seen: Survey, facts: list[PipelineRead]) -> dict[str, str]:
    """Why settings of pipelines do not apply: all of them by the name '', others by their own."""
    stages = {stage for fact in facts for stage in fact.stages}
    keras_own = bool(seen.fits) and not any(fact.dataset for fact in seen.fits)
    prefetched = all("Prefetch" in fact.stages[0] for fact in facts)
    parallel = any(stage.startswith(("Map", "Parallel", "Interleave")) for stage in stages)
    return {
        "": _first(
            (not facts, "no tf.data pipeline is read"),
            (keras_own, "the pipeline is Keras's own: fit() is not given a dataset"),
        ),
        "prefetch": _first((prefetched, "the pipelines already end in a prefetch")),
        "parallel-map": _first(("MapDataset" not in stages, "no map() without num_parallel_calls")),
        "unordered": _first((not parallel, "no stage that could run in parallel")),
    }


_OLD_OPTIMIZERS = {"SGD": "GradientDescentOptimizer", "Adam": "AdamOptimizer"}


def _optimizer(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of(OptimizerMade)
    old = any(fact.package.startswith("tensorflow") for fact in facts)
    module = "tf.compat.v1.train" if old else "keras.optimizers"
    for name in ("SGD", "Adam", "Adafactor"):
        target = _OLD_OPTIMIZERS.get(name, "") if old else name
        yield Setting(
            name.lower(),
            "optimizer",
            {"optimizer": name},
            keep=f"{module}.{target or name}(…)",
            where=place_of(facts),
            changes="other optimizer",
            why_not=_first(
                (not facts, "no optimizer of Keras or tf.train is used"),
                (not target, "tf.train has none"),
                (
                    all(fact.own == target for fact in facts),
                    f"the script already uses {target}",
                ),
            ),
        )


def _onednn(seen: Survey, machine: Machine) -> Iterator[Setting]:
    off = machine.environment.get("TF_ENABLE_ONEDNN_OPTS") == "0"
    name, value = ("onednn-on", "1") if off else ("onednn-off", "0")
    environment = {"TF_ENABLE_ONEDNN_OPTS": value}
    yield Setting(
        name,
        "onednn",
        {"environment": list(environment)},
        environment,
        keep=f"TF_ENABLE_ONEDNN_OPTS={value}",
        where="the environment",
    )


OPTIMISERS = (
    "layout_optimizer",
    "constant_folding",
    "shape_optimization",
    "remapping",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "implementation_selector",
)
_GRAPH_OPTIONS: Mapping[str, Mapping[str, bool]] = {
    "grappler-off": {"disable_meta_optimizer": True},
    **{f"no-{name}": {name: False} for name in OPTIMISERS},
    "pruning-off": {"disable_model_pruning": True},
}


def _graph(seen: Survey, machine: Machine) -> Iterator[Setting]:
    why_not = _first((seen.runs_eagerly, f"{_EAGER}: there is no graph to optimize"))
    for name, options in _GRAPH_OPTIONS.items():
        yield Setting(
            name,
            "graph",
            {"graph": dict(options)},
            keep=f"tf.config.optimizer.set_experimental_options({dict(options)})",
            where="the first lines",
            why_not=why_not,
        )


_MALLOC = {
    "arenas-1": {"MALLOC_ARENA_MAX": "1"},
    "keep-freed": {
        "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
        "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    },
}


def _allocator(seen: Survey, machine: Machine) -> Iterator[Setting]:
    for name, environment in _MALLOC.items():
        yield Setting(
            name,
            "allocator",
            environment=environment,
            keep=" ".join(f"{key}={value}" for key, value in environment.items()),
            where="the environment",
            why_not=_first((environment.items() <= machine.environment.items(), _ALREADY)),
        )


def _determinism(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of(DeterminismAsked)
    on = machine.environment.get("TF_DETERMINISTIC_OPS", "0").lower() in ("1", "true")
    asked_for = bool(facts) or on
    yield Setting(
        "determinism-off",
        "determinism",
        {"determinism": False},
        {"TF_DETERMINISTIC_OPS": "0"} if on else {},
        keep="remove enable_op_determinism()",
        where=place_of(facts),
        why_not=_first((not asked_for, "the script does not ask for determinism")),
    )


_MAKERS: Sequence[Callable[[Survey, Machine], Iterator[Setting]]] = (
    _xla,
    _precision,
    _batch,
    _accumulation,
    _execution,
    _threads,
    _data,
    _optimizer,
    _onednn,
    _graph,
    _allocator,
    _determinism,
)


def combined(name: str, settings: Sequence[Setting]) -> Setting:
    """Several at once; settings of one switch are merged, the later one wins."""
    asked: JsonObject = {}
    environment: dict[str, str] = {}
    for setting in settings:
        for key, value in setting.asked.items():
            merges = isinstance(value, dict)
            asked[key] = {**asked.get(key, {}), **value} if merges else value
        environment.update(setting.environment)
    return Setting(
        name,
        "combined",
        asked,
        environment,
        changes=", ".join(filter(None, (one.changes for one in settings))),
        parts=tuple(setting.name for setting in settings),
    )
