"""Settings of how TensorFlow compiles and runs a graph: XLA, precision, oneDNN, Grappler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unslow.facts.json_object import JsonObject
from unslow.facts.whatif import DeterminismAsked, LayersMade, ModelCompiled
from unslow.proof.whatif.setting import RUNS_EAGERLY, Machine, Setting, first_reason
from unslow.proof.whatif.survey import Survey, place_of


def xla(seen: Survey, machine: Machine) -> Iterator[Setting]:
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
        why_not=first_reason((seen.runs_eagerly, f"{RUNS_EAGERLY}: there is no graph to cluster")),
    )


def _jit_compile(seen: Survey) -> Setting:
    functions = [fact for fact in seen.functions if not fact.jit]
    switches: JsonObject = {}
    keep, where = "@tf.function(jit_compile=True)", place_of(functions)
    if seen.trains_by_keras:
        switches["jit_compile"] = True
        keep, where = "model.compile(…, jit_compile=True)", place_of(seen.of(ModelCompiled))
    if functions:
        switches["functions"] = [fact.place for fact in functions]
    fits_compiled = bool(seen.fits) and all(fact.jit for fact in seen.fits)
    why_not = first_reason(
        (seen.runs_eagerly, f"{RUNS_EAGERLY}: there is no function to compile"),
        (not switches and seen.has_session, "a Session has no such switch: see auto-cluster"),
        (not switches, "every update is already compiled"),
        (fits_compiled, "fit() is already compiled"),
    )
    return Setting("jit_compile", "xla", switches, keep=keep, where=where, why_not=why_not)


_SUPPORT = {
    "float16": ("avx512_fp16", "amx_fp16"),
    "bfloat16": ("avx512_bf16", "amx_bf16", "avx_ne_convert"),
}
_REWRITES = {"float16": "auto_mixed_precision", "bfloat16": "auto_mixed_precision_onednn_bfloat16"}


def precision(seen: Survey, machine: Machine) -> Iterator[Setting]:
    for kind, flags in _SUPPORT.items():
        emulated = f"this processor has no {kind} instructions: it emulates them"
        note = first_reason((not machine.flags & set(flags), emulated))
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
        why_not=first_reason((seen.runs_eagerly, "no Keras layers, and no graph to rewrite")),
    )


def onednn(seen: Survey, machine: Machine) -> Iterator[Setting]:
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


def graph(seen: Survey, machine: Machine) -> Iterator[Setting]:
    why_not = first_reason((seen.runs_eagerly, f"{RUNS_EAGERLY}: there is no graph to optimize"))
    for name, options in _GRAPH_OPTIONS.items():
        yield Setting(
            name,
            "graph",
            {"graph": dict(options)},
            keep=f"tf.config.optimizer.set_experimental_options({dict(options)})",
            where="the first lines",
            why_not=why_not,
        )


def determinism(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = seen.of(DeterminismAsked)
    on = machine.environment.get("TF_DETERMINISTIC_OPS", "0").lower() in ("1", "true")
    requested = bool(facts) or on
    yield Setting(
        "determinism-off",
        "determinism",
        {"determinism": False},
        {"TF_DETERMINISTIC_OPS": "0"} if on else {},
        keep="remove enable_op_determinism()",
        where=place_of(facts),
        why_not=first_reason((not requested, "the script does not ask for determinism")),
    )
