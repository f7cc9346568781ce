"""Which example shows that a cause is found by a recording that began in the middle of a training."""

from __future__ import annotations

# By cause. `tests/live/test_attach_causes.py` attaches to each; docs/attached.md is made from this table.
TRIED = {
    "checkpoint-cost": "checkpoint_cost_fit.py",
    "compute-bound": "compute_bound.py",
    "eager-step": "eager_step.py",
    "elementwise-loop": "elementwise_loop.py",
    "evaluation-in-step": "evaluation_in_step.py",
    "feed-dict": "feed_dict.py",
    "fit-in-loop": "fit_in_loop.py",
    "function-in-loop": "function_in_loop.py",
    "gc-pauses": "gc_pauses.py",
    "graph-growth": "graph_growth.py",
    "host-sync": "host_sync.py",
    "input-bound": "input_bound_fit.py",
    "iterator-rebuilt": "iterator_rebuilt.py",
    "many-session-runs": "many_session_runs.py",
    "optimizer-state": "optimizer_state.py",
    "over-fetching": "over_fetching.py",
    "predict-in-loop": "predict_in_loop.py",
    "python-input": "python_input.py",
    "python-overhead": "python_overhead.py",
    "retracing": "retracing.py",
    "run-eagerly": "run_eagerly.py",
    "slow-callbacks": "slow_callbacks.py",
    "thread-settings": "thread_settings.py",
    "tiny-batches": "tiny_batches.py",
    "variables-in-loop": "variables_in_loop.py",
}
