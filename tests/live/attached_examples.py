"""Which example shows that a cause is found by a recording that began in the middle of a training."""

from __future__ import annotations

from dataclasses import dataclass

_RECORDED = 6.0


@dataclass(frozen=True)
class Tried:
    """An example, and how it is attached to."""

    example: str
    # A change that makes it long where the number of turns of its last loop does not, or that goes
    # on giving it what is new in every step: text of the example, and what it is replaced by.
    longer: tuple[tuple[str, str], ...] = ()
    seconds: float = _RECORDED  # of recording
    used_at: str = ""  # part of the line that is named where an object was made before
    has_line: bool = True  # False: nothing that runs now shows the line of a setting
    first: bool = True  # whether it is the first fault that is reported


# By cause. `tests/live/test_attach_causes.py` attaches to each; docs/attached.md is made from this table.
TRIED = {
    "big-shuffle": Tried("big_shuffle.py", seconds=30, used_at="in dataset.take("),
    "checkpoint-cost": Tried("checkpoint_cost_fit.py", used_at="model.fit("),
    "compute-bound": Tried("compute_bound.py"),
    "eager-calls": Tried("eager_calls.py"),
    "eager-step": Tried("eager_step.py"),
    "elementwise-loop": Tried("elementwise_loop.py"),
    "evaluation-in-step": Tried("evaluation_in_step.py"),
    "feed-dict": Tried("feed_dict.py"),
    "file-growth": Tried(
        "file_growth.py",
        longer=(("repeat(120)", "repeat(60_000)"), ("step % 6", "step % 10")),
        seconds=25,
        used_at="manager.save()",
    ),
    "fit-in-loop": Tried("fit_in_loop.py"),
    "function-in-loop": Tried("function_in_loop.py"),
    "gc-pauses": Tried("gc_pauses.py"),
    "graph-growth": Tried("graph_growth.py"),
    "hoarded-tensors": Tried(
        "hoarded_tensors.py", longer=(("repeat(150)", "repeat(150_000)"),), seconds=10
    ),
    "host-sync": Tried("host_sync.py"),
    "input-bound": Tried("input_bound_fit.py", used_at="model.fit("),
    "iterator-rebuilt": Tried("iterator_rebuilt.py"),
    "kernels-rebuilt": Tried("kernels_rebuilt.py", seconds=8),
    "many-session-runs": Tried("many_session_runs.py"),
    # The pages that are read again are read by Python: both are reported.
    "memory-pressure": Tried("memory_pressure.py", seconds=15, first=False),
    "model-rebuilt": Tried(
        "model_rebuilt.py",
        longer=(("permutation(600), 6)", "permutation(600), 6) * 400"),),
        seconds=12,
    ),
    "native-growth": Tried("native_growth.py", seconds=15),
    "noisy-machine": Tried("noisy_machine.py", seconds=10),
    "optimizer-state": Tried("optimizer_state.py", used_at="loss = train()"),
    "over-fetching": Tried("over_fetching.py"),
    "predict-in-loop": Tried("predict_in_loop.py"),
    "profiler-left-on": Tried("profiler_left_on.py", seconds=10),
    "python-input": Tried("python_input.py"),
    "python-overhead": Tried("python_overhead.py"),
    "rereading": Tried(
        "rereading.py", longer=(("epochs=6", "epochs=60_000"),), seconds=20, used_at="model.fit("
    ),
    "retracing": Tried("retracing.py"),
    "run-eagerly": Tried("run_eagerly.py", used_at="model.fit("),
    "shape-churn": Tried(
        "shape_churn.py",
        longer=(("range(150)", "range(60_000)"), ("size=(12,", "size=(12 + step // 140 % 40,")),
        seconds=15,
    ),
    "slow-callbacks": Tried("slow_callbacks.py"),
    # Leaving the block flushes what was written.
    "summary-cost": Tried("summary_cost.py", seconds=8, used_at="with writer.as_default("),
    "thread-settings": Tried("thread_settings.py", has_line=False),
    "tiny-batches": Tried("tiny_batches.py"),
    "uneven-batches": Tried(
        "uneven_batches.py", longer=(("lengths.tolist():", "lengths.tolist() * 400:"),), seconds=15
    ),
    "variables-in-loop": Tried("variables_in_loop.py"),
    "wide-dtypes": Tried(
        "wide_dtypes.py",
        longer=((".batch(64)", ".batch(64).repeat(4000)"),),
        seconds=8,
        used_at="loss = network.train(",
    ),
    "xla-recompile": Tried(
        "xla_recompile.py",
        longer=(("range(120)", "range(60_000)"), ("int(rng.integers(12))", "step // 3")),
        seconds=10,
    ),
}
