"""Settings of the host: threads, tf.data pipelines, the allocator."""

from __future__ import annotations

from collections.abc import Iterator

from unslow.facts.whatif import PipelineRead, ThreadsSet
from unslow.proof.whatif.setting import ALREADY_SET, Machine, Setting, first_reason
from unslow.proof.whatif.survey import Survey, place_of


def threads(seen: Survey, machine: Machine) -> Iterator[Setting]:
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
                why_not=first_reason((count == now, ALREADY_SET)),
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


def data(seen: Survey, machine: Machine) -> Iterator[Setting]:
    facts = [fact for fact in seen.of(PipelineRead) if fact.stack]
    reasons = _pipeline_reasons(seen, facts)
    for name, options, keep, changes in _OPTIONS:
        if keep.startswith("options"):
            keep = f"options = tf.data.Options(); {keep}; dataset = dataset.with_options(options)"
        yield Setting(
            name,
            "data",
            {"data": options},
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
        "": first_reason(
            (not facts, "no tf.data pipeline is read"),
            (keras_own, "the pipeline is Keras's own: fit() is not given a dataset"),
        ),
        "prefetch": first_reason((prefetched, "the pipelines already end in a prefetch")),
        "parallel-map": first_reason(
            ("MapDataset" not in stages, "no map() without num_parallel_calls")
        ),
        "unordered": first_reason((not parallel, "no stage that could run in parallel")),
    }


_MALLOC = {
    "arenas-1": {"MALLOC_ARENA_MAX": "1"},
    "keep-freed": {
        "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
        "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    },
}


def allocator(seen: Survey, machine: Machine) -> Iterator[Setting]:
    for name, environment in _MALLOC.items():
        yield Setting(
            name,
            "allocator",
            environment=environment,
            keep=" ".join(f"{key}={value}" for key, value in environment.items()),
            where="the environment",
            why_not=first_reason((environment.items() <= machine.environment.items(), ALREADY_SET)),
        )
