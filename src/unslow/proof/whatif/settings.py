"""The settings: how each is asked for from outside, to whom it applies, and the line that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unslow.proof.whatif.survey import Survey, place_of


@dataclass(frozen=True)
class Setting:
    """One other way to run the same script. `why_not` says why it cannot apply here, where that is known."""

    name: str
    group: str
    asked: Mapping[str, Any] = field(
        default_factory=dict
    )  # for the switches in the training's process
    environment: Mapping[str, str] = field(default_factory=dict)
    keep: str = ""  # the line to add
    where: str = ""  # the user's line that it belongs to
    changes: str = ""  # what else is computed then: weights are not compared
    note: str = ""
    why_not: str = ""
    parts: tuple[str, ...] = ()  # of a combination


@dataclass(frozen=True)
class Machine:
    """What decides which settings are worth a try."""

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


def catalogue(seen: Survey, machine: Machine) -> list[Setting]:
    """Every setting, whether or not it applies here."""
    return [setting for make in _MAKERS for setting in make(seen, machine)]


def _xla(seen: Survey, machine: Machine) -> Iterator[Setting]:
    functions = [fact for fact in seen.functions if not fact["jit"]]
    asked: dict[str, Any] = {}
    keep, where, why_not = "@tf.function(jit_compile=True)", place_of(functions), ""
    if seen.trains_by_keras:
        asked["jit_compile"] = True
        keep, where = "model.compile(…, jit_compile=True)", place_of(seen.of("compile"))
    if functions:
        asked["functions"] = [fact["place"] for fact in functions]
    if seen.runs_eagerly:
        why_not = "the updates run eagerly, op by op: there is no function to compile"
    elif not asked:
        why_not = (
            "a Session has no such switch: see auto-cluster"
            if seen.has_session
            else "every update is compiled already"
        )
    elif seen.fits and all(fact["jit"] for fact in seen.fits):
        why_not = "fit() is compiled already"
    yield Setting("jit_compile", "xla", asked, keep=keep, where=where, why_not=why_not)
    flags = f"{machine.environment.get('TF_XLA_FLAGS', '')} --tf_xla_auto_jit=2 --tf_xla_cpu_global_jit".strip()
    why_not = (
        "the updates run eagerly, op by op: there is no graph to cluster"
        if seen.runs_eagerly
        else ""
    )
    # At its lowest log level TensorFlow says whether XLA compiled anything.
    environment = {"TF_XLA_FLAGS": flags, "TF_CPP_MIN_LOG_LEVEL": "0"}
    yield Setting(
        "auto-cluster",
        "xla",
        environment=environment,
        keep=f'TF_XLA_FLAGS="{flags}"',
        where="the environment",
        why_not=why_not,
    )


_SUPPORT = {
    "float16": ("avx512_fp16", "amx_fp16"),
    "bfloat16": ("avx512_bf16", "amx_bf16", "avx_ne_convert"),
}
_REWRITES = {"float16": "auto_mixed_precision", "bfloat16": "auto_mixed_precision_onednn_bfloat16"}


def _precision(seen: Survey, machine: Machine) -> Iterator[Setting]:
    for kind, flags in _SUPPORT.items():
        note = (
            ""
            if machine.flags & set(flags)
            else f"this processor has no {kind} instructions: it is emulated"
        )
        if seen.has("layers"):
            scaled = kind == "float16" and not seen.trains_by_keras
            more = "  # and scale the loss: keras.optimizers.LossScaleOptimizer" if scaled else ""
            keep = f'keras.mixed_precision.set_global_policy("mixed_{kind}"){more}'
            yield Setting(
                f"mixed_{kind}",
                "precision",
                {"policy": f"mixed_{kind}"},
                keep=keep,
                where="before the model",
                note=note,
            )
        else:
            option = _REWRITES[kind]
            why_not = "no Keras layers, and no graph to rewrite" if seen.runs_eagerly else ""
            yield Setting(
                f"mixed_{kind}",
                "precision",
                {"graph": {option: True}},
                note=note,
                why_not=why_not,
                keep=f'tf.config.optimizer.set_experimental_options({{"{option}": True}})',
                where="the first lines",
            )


def _batch(seen: Survey, machine: Machine) -> Iterator[Setting]:
    arrays = [fact for fact in seen.fits if fact["arrays"]]
    why_not = (
        ""
        if arrays or seen.batches
        else "the batch is made by the script itself: neither fit() nor batch() cuts it"
    )
    where = place_of(arrays or seen.batches)
    now = seen.examples
    for name, factor in (("batch-half", 0.5), ("batch-x2", 2.0), ("batch-x4", 4.0)):
        size = max(1, round(now * factor))
        keep = f"batch_size={size}" if arrays else f".batch({size})"
        yield Setting(
            name,
            "batch",
            {"batch": factor, "inner": seen.inner},
            keep=keep,
            where=where,
            changes="other batch",
            why_not=why_not or ("the batch is 1 already" if size == now else ""),
        )


def _accumulation(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of("accumulation")
    why_not = ""
    if not facts:
        why_not = "no optimizer of Keras 3"
    elif any(fact["own"] for fact in facts):
        why_not = "the script accumulates already"
    keep, where = "gradient_accumulation_steps=4", place_of(seen.of("optimizer"))
    yield Setting(
        "accumulate-4",
        "accumulation",
        {"accumulate": 4},
        keep=keep,
        where=where,
        changes="1 update in 4",
        why_not=why_not,
    )
    size = seen.examples // 4
    if not why_not:
        arrays = [fact for fact in seen.fits if fact["arrays"]]
        why_not = (
            "" if (arrays or seen.batches) and size else "the batch cannot be cut from outside"
        )
    yield Setting(
        "accumulate-4-small",
        "accumulation",
        {"accumulate": 4, "batch": 0.25, "inner": seen.inner},
        keep=f"{keep} and a batch of {size}",
        where=where,
        changes="4 small steps",
        why_not=why_not,
    )


def _execution(seen: Survey, machine: Machine) -> Iterator[Setting]:
    epoch = next((fact["epoch"] for fact in seen.fits if fact["epoch"]), 0)
    steps, uneven = _group(machine.steps, epoch)
    why_not = f"an epoch of {epoch} steps cannot be cut evenly" if uneven > _UNEVEN else ""
    if not seen.fits:
        why_not = "fit() is not what trains here"
    elif any(fact["eager"] for fact in seen.fits):
        why_not = "the model runs eagerly"
    elif any(fact["together"] > 1 for fact in seen.fits):
        why_not = f"it is {seen.fits[0]['together']} already"
    yield Setting(
        "steps_per_execution",
        "execution",
        {"steps_per_execution": steps},
        why_not=why_not,
        keep=f"model.compile(…, steps_per_execution={steps})",
        where=place_of(seen.of("compile")),
    )


_UNEVEN = 0.05


def _group(steps: int, epoch: int) -> tuple[int, float]:
    """How many steps to execute at once, and by what share they are miscounted: an epoch's last group is short."""
    found = []
    for count in (10, 8, 5, 4, 3, 2, *([epoch] if 1 < epoch <= 16 else [])):
        whole = min(steps, epoch) if epoch else steps
        over = -(-epoch // count) * count / epoch - 1 if epoch and epoch < steps else 0.0
        found.append((over > _UNEVEN, whole % count > 0 or steps % count > 0, over, -count))
    _, _, over, count = min(found)
    return -count, over


def _threads(seen: Survey, machine: Machine) -> Iterator[Setting]:
    own = {fact["which"]: fact["own"] for fact in seen.of("threads")}
    for which in ("intra", "inter"):
        for count in sorted({1, max(1, machine.cores // 2), machine.cores}):
            now = own.get(which) or machine.cores
            why_not = "so it is already" if count == now else ""
            if count == machine.cores and why_not:
                continue
            yield Setting(
                f"{which}-op-{count}",
                "threads",
                {which: count},
                where="the first lines",
                why_not=why_not,
                keep=f"tf.config.threading.set_{which}_op_parallelism_threads({count})",
            )


_OPTIONS = (
    ("prefetch", {"prefetch": True}, "dataset.prefetch(tf.data.AUTOTUNE)", ""),
    (
        "parallel-map",
        {"experimental_optimization.map_parallelization": True},
        "options.experimental_optimization.map_parallelization = True",
        "",
    ),
    (
        "unordered",
        {"deterministic": False, "experimental_optimization.map_parallelization": True},
        "options.deterministic = False",
        "other order",
    ),
    ("autotune-off", {"autotune.enabled": False}, "options.autotune.enabled = False", ""),
    ("ram-budget", {"autotune.ram_budget": 64 << 20}, "options.autotune.ram_budget = 64 << 20", ""),
)


def _data(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = [fact for fact in seen.of("pipeline") if fact["stack"]]
    why_not = "" if facts else "no tf.data pipeline is read"
    if facts and seen.fits and not any(fact["dataset"] for fact in seen.fits):
        why_not = "the pipeline is Keras's own: fit() is given something else than a dataset"
    stages = {stage for fact in facts for stage in fact["stages"]}
    parallel = any(stage.startswith(("Map", "Parallel", "Interleave")) for stage in stages)
    for name, asked, keep, changes in _OPTIONS:
        reason = why_not
        if (
            not reason
            and name == "prefetch"
            and all("Prefetch" in fact["stages"][0] for fact in facts)
        ):
            reason = "the pipelines end in a prefetch already"
        if not reason and name == "parallel-map" and "MapDataset" not in stages:
            reason = "no map() without num_parallel_calls"
        if not reason and name == "unordered" and not parallel:
            reason = "no stage that could run in parallel"
        if keep.startswith("options"):
            keep = f"options = tf.data.Options(); {keep}; dataset = dataset.with_options(options)"
        yield Setting(
            name,
            "data",
            {"data": asked},
            keep=keep,
            where=place_of(facts),
            changes=changes,
            why_not=reason,
        )


def _optimizer(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of("optimizer")
    old = any(fact["package"].startswith("tensorflow") for fact in facts)
    names = {"SGD": "GradientDescentOptimizer", "Adam": "AdamOptimizer"} if old else {}
    module = "tf.compat.v1.train" if old else "keras.optimizers"
    for name in ("SGD", "Adam", "Adafactor"):
        target = names.get(name, name)
        why_not = ""
        if not facts:
            why_not = "no optimizer of Keras or tf.train is made"
        elif all(fact["own"] == target for fact in facts):
            why_not = f"the script uses {target} already"
        elif old and name not in names:
            why_not = "tf.train has none"
        yield Setting(
            name.lower(),
            "optimizer",
            {"optimizer": name},
            keep=f"{module}.{target}(…)",
            where=place_of(facts),
            changes="other optimizer",
            why_not=why_not,
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


def _graph(seen: Survey, machine: Machine) -> Iterator[Setting]:
    why_not = (
        "the updates run eagerly, op by op: there is no graph to optimise"
        if seen.runs_eagerly
        else ""
    )
    chosen: list[tuple[str, dict[str, bool]]] = [("grappler-off", {"disable_meta_optimizer": True})]
    chosen += [(f"no-{name}", {name: False}) for name in OPTIMISERS]
    chosen += [("pruning-off", {"disable_model_pruning": True})]
    for name, options in chosen:
        yield Setting(
            name,
            "graph",
            {"graph": options},
            where="the first lines",
            why_not=why_not,
            keep=f"tf.config.optimizer.set_experimental_options({options})",
        )


_MALLOC = (
    ("arenas-1", {"MALLOC_ARENA_MAX": "1"}),
    (
        "keep-freed",
        {"MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_MMAP_THRESHOLD_": str(1 << 30)},
    ),
)


def _allocator(seen: Survey, machine: Machine) -> Iterator[Setting]:
    for name, environment in _MALLOC:
        same = all(machine.environment.get(key) == value for key, value in environment.items())
        keep = " ".join(f"{key}={value}" for key, value in environment.items())
        yield Setting(
            name,
            "allocator",
            environment=environment,
            keep=keep,
            where="the environment",
            why_not="so it is already" if same else "",
        )


def _determinism(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of("determinism")
    on = machine.environment.get("TF_DETERMINISTIC_OPS", "0").lower() in ("1", "true")
    yield Setting(
        "determinism-off",
        "determinism",
        {"determinism": False},
        {"TF_DETERMINISTIC_OPS": "0"} if on else {},
        keep="leave enable_op_determinism() away",
        where=place_of(facts),
        why_not="" if facts or on else "the script does not ask for determinism",
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
    asked: dict[str, Any] = {}
    environment: dict[str, str] = {}
    for setting in settings:
        for key, value in setting.asked.items():
            if isinstance(value, dict):
                value = {**asked.get(key, {}), **value}
            asked[key] = value
        environment.update(setting.environment)
    return Setting(
        name,
        "combined",
        asked,
        environment,
        changes=", ".join(filter(None, (one.changes for one in settings))),
        parts=tuple(setting.name for setting in settings),
    )
