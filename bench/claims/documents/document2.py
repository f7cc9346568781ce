"""Document 2: why every iteration takes longer than the last."""

from bench.claims.experiment import MUCH, Above, Claim, Document, Ratio, Runs, Untested

_MEMORY = "4 KiB an iteration are 4 GiB in a million"

DOCUMENT = Document(
    2,
    "Why does each iteration take longer than the one before?",
    (
        Claim(
            "Ops that the loop adds to the graph make every iteration slower than the last.",
            "iterations",
            Ratio(
                {
                    "session, iteration 1 000 against 100": (
                        "session, adding an op.at 1000",
                        "session, adding an op.at 100",
                    ),
                    "session, 2 000 against 1 000": (
                        "session, adding an op.at 2000",
                        "session, adding an op.at 1000",
                    ),
                    "session, 3 000 against 2 000": (
                        "session, adding an op.at 3000",
                        "session, adding an op.at 2000",
                    ),
                }
            ),
            ("graph-growth",),
        ),
        Claim(
            "The same happens with eager execution: each op that runs makes a graph larger.",
            "iterations",
            Ratio(
                {
                    "eager, iteration 3 000 against 100": (
                        "eager chain.at 3000",
                        "eager chain.at 100",
                    )
                }
            ),
            ("graph-growth", "eager-step"),
        ),
        Claim(
            "Eager ops pile up in memory with the iterations.",
            "memory-per-iteration",
            Above({"eager training": "eager.bytes an iteration"}, 4096, _MEMORY),
            ("native-growth", "hoarded-tensors"),
        ),
        Claim(
            "In the first example (eager products, factors written in the loop) an iteration's cost rises.",
            "factors",
            Ratio(
                {
                    "last hundred against first": (
                        "written in the loop.last hundred",
                        "written in the loop.first hundred",
                    )
                }
            ),
            ("graph-growth",),
        ),
        Claim(
            "The second example (factors made before the loop, called static) is notably faster than the first.",
            "factors",
            Ratio({"whole loop": ("written in the loop.seconds", "made before.seconds")}),
            ("eager-step",),
        ),
        Claim(
            "The first two examples run as printed.",
            "examples",
            Runs(
                {
                    "factors in the loop": "factors in the loop",
                    "factors before it": "factors made before",
                }
            ),
            ("eager-step",),
        ),
        Claim(
            "The third example, the loop with its `.numpy()` and `print` in a `tf.function`, runs.",
            "examples",
            Runs({"as printed": "numpy() in a tf.function"}),
            ("numpy-in-function",),
        ),
        Claim(
            "A loop inside a `tf.function` is much faster than op by op.",
            "loop-in-function",
            Ratio(
                {
                    "the only call, as in the example": ("eager.first call", "compiled.first call"),
                    "later calls": ("eager.later calls", "compiled.later calls"),
                },
                MUCH,
            ),
            ("unrolled-loop", "eager-step"),
        ),
        Claim(
            "A training step in a `tf.function` is faster than op by op.",
            "compiled-step",
            Ratio(
                {
                    "small model": ("small, eager.seconds", "small, compiled.seconds"),
                    "large model": ("large, eager.seconds", "large, compiled.seconds"),
                }
            ),
            ("eager-step", "run-eagerly"),
        ),
        Claim(
            "With a compiled step the time of an iteration no longer rises.",
            "iterations",
            Ratio(
                {
                    "iteration 100 against 3 000 at least as long": (
                        "compiled step.at 100",
                        "compiled step.at 3000",
                    )
                },
                0.9,
            ),
            ("graph-growth",),
        ),
        Claim(
            "Taking gradients costs more the more ops there are.",
            "backward",
            Ratio({"500 ops against 50": ("500 ops.seconds", "50 ops.seconds")}),
            ("graph-growth", "unrolled-loop"),
        ),
        Claim(
            "Tensor shapes that change make the steps slower, because memory cannot be used again.",
            "shapes",
            Ratio(
                {
                    "dense layers, never the same": ("dense, new.seconds", "dense, one.seconds"),
                    "convolutions, eight sizes in turn": (
                        "convolutions, eight.seconds",
                        "convolutions, one.seconds",
                    ),
                    "convolutions, never the same": (
                        "convolutions, new.seconds",
                        "convolutions, one.seconds",
                    ),
                }
            ),
            ("shape-churn", "kernels-rebuilt"),
        ),
        Claim(
            "Results in new tensors are slower than results in memory that is there already.",
            "fresh-buffers",
            Ratio(
                {
                    "4 KiB": ("4 KiB, new tensor.seconds", "4 KiB, in place.seconds"),
                    "16 MiB": ("16 MiB, new tensor.seconds", "16 MiB, in place.seconds"),
                }
            ),
            ("shape-churn", "compute-bound"),
            ("allocator",),
        ),
        Claim(
            "Prefetching makes the input faster.",
            "prefetch",
            Ratio(
                {
                    "input that waits": ("waiting, without.seconds", "waiting, with.seconds"),
                    "the same, tf.data's own prefetch off": (
                        "waiting, none at all.seconds",
                        "waiting, with.seconds",
                    ),
                    "input that computes, cores busy": (
                        "working, without.seconds",
                        "working, with.seconds",
                    ),
                }
            ),
            ("input-bound",),
            ("data",),
        ),
        Claim(
            "Handling rows in batches makes the input faster.",
            "map-order",
            Ratio({"a cheap map": ("rows, then batch.seconds", "batch, then map.seconds")}),
            ("input-bound",),
        ),
        Claim(
            "Mixed precision makes the tensors take less memory.",
            "mixed-memory",
            Ratio(
                {
                    "mixed_float16": ("float32.peak bytes", "mixed_float16.peak bytes"),
                    "mixed_bfloat16": ("float32.peak bytes", "mixed_bfloat16.peak bytes"),
                }
            ),
            ("wide-dtypes", "memory-pressure"),
            ("precision",),
        ),
        Claim(
            "Graph optimisations (constant folding, common subexpressions) are to be switched on for speed.",
            "graph-optimiser",
            Ratio(
                {
                    "on by default against off": ("off.seconds", "by default.seconds"),
                    "asked for by name, in place of the default": (
                        "by default.seconds",
                        "asked for.seconds",
                    ),
                }
            ),
            ("compute-bound",),
            ("graph",),
        ),
    ),
    (
        Untested(
            "Copies between CPU and GPU in every iteration are a bottleneck.",
            "no GPU here",
            ("host-sync", "input-bound"),
        ),
        Untested(
            "TensorBoard's view of the graph shows the bottlenecks.",
            "a matter of reading; unslow names the line in place of it",
            ("graph-growth",),
        ),
    ),
)
