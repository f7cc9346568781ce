"""Which example shows that a cause is found by a recording that began in the middle of a training."""

from __future__ import annotations

# By cause. `tests/live/test_attach_causes.py` attaches to each; docs/attached.md is made from this table.
TRIED = {
    "checkpoint-cost": "checkpoint_cost_fit.py",
    "eager-step": "eager_step.py",
    "feed-dict": "feed_dict.py",
    "function-in-loop": "function_in_loop.py",
    "graph-growth": "graph_growth.py",
    "input-bound": "input_bound_fit.py",
    "many-session-runs": "many_session_runs.py",
    "predict-in-loop": "predict_in_loop.py",
    "retracing": "retracing.py",
    "run-eagerly": "run_eagerly.py",
}
