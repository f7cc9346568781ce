"""Document 3: why a training slows down after many iterations, with the memory full."""

from bench.claims.experiment import MUCH, Above, Below, Claim, Document, Ratio, Runs, Untested

_MEMORY = "4 KiB an iteration are 4 GiB in a million"

DOCUMENT = Document(
    3,
    "Why does a training slow down after some 1 500 iterations, with high memory use?",
    (
        Claim(
            "The graph of an ordinary training grows with every iteration and takes more and more memory.",
            "memory-per-iteration",
            Above(
                {
                    "compiled": "compiled.bytes an iteration",
                    "eager": "eager.bytes an iteration",
                    "session": "session.bytes an iteration",
                    "session whose loop adds an op": "session, adding an op.bytes an iteration",
                },
                4096,
                _MEMORY,
            ),
            ("graph-growth", "native-growth"),
        ),
        Claim(
            "So an ordinary training is slower after 1 500 iterations than before.",
            "iterations",
            Ratio(
                {
                    "compiled, 2 000 against 100": (
                        "compiled step.at 2000",
                        "compiled step.at 100",
                    ),
                    "session whose loop adds an op": (
                        "session, adding an op.at 2000",
                        "session, adding an op.at 100",
                    ),
                }
            ),
            ("graph-growth",),
        ),
        Claim(
            "Results of past steps pile up in memory.",
            "kept-results",
            Above(
                {
                    "the script keeps predictions in a list": "predictions.bytes an iteration",
                    "the script keeps floats": "floats.bytes an iteration",
                },
                4096,
                _MEMORY,
            ),
            ("hoarded-tensors",),
        ),
        Claim(
            "Larger batches need more memory in a step.",
            "batch-memory",
            Ratio({"4 096 rows against 256": ("4096 rows.peak bytes", "256 rows.peak bytes")}),
            ("memory-pressure",),
        ),
        Claim(
            "The state of optimizers such as Adam grows with the iterations.",
            "optimizer-state",
            Above(
                {
                    "Adam, 1 500 updates against one": "adam.growth",
                    "RMSprop, 1 500 updates against one": "rmsprop.growth",
                },
                1.0,
                "1 is no growth",
            ),
            ("optimizer-state",),
        ),
        Claim(
            "That state is a large part of the memory, and which optimizer is used decides how large.",
            "optimizer-state",
            Above(
                {
                    "Adam": "adam.of the weights",
                    "RMSprop": "rmsprop.of the weights",
                    "SGD": "sgd.of the weights",
                },
                0.5,
                "half of what the weights take",
            ),
            ("optimizer-state",),
            ("optimizer",),
        ),
        Claim(
            "Reading the data from disk again and again slows the training down.",
            "rereading",
            Ratio({"read against cached": ("read every time.seconds", "cached.seconds")}),
            ("rereading", "input-bound"),
        ),
        Claim(
            "Reading the data again and again fills the memory.",
            "rereading",
            Above(
                {"ten more passes": "read every time.bytes a pass"},
                1 << 20,
                "1 MiB a pass, of 12 MiB decoded",
            ),
            ("rereading", "memory-pressure"),
        ),
        Claim(
            "Prefetching overlaps the input with the computation, so steps get shorter.",
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
            "`map` prepares the data without holding all of the results in memory.",
            "lazy-map",
            Ratio({"all at once against map": ("all at once.bytes", "by map.bytes")}),
            ("memory-pressure", "input-bound"),
        ),
        Claim(
            "The example's pipeline keeps the data out of memory.",
            "whole-set",
            Below(
                {"`from_tensor_slices`": "from_tensor_slices.bytes held per byte"},
                0.5,
                "half of the array",
            ),
            ("memory-pressure",),
        ),
        Claim(
            "The example's pipeline, which maps rows before batching them, is efficient: the other order is no faster.",
            "map-order",
            Ratio(
                {
                    "mapped batches are not faster": (
                        "batch, then map.seconds",
                        "rows, then batch.seconds",
                    )
                },
                0.9,
            ),
            ("input-bound",),
        ),
        Claim(
            "A `map` that handles one element at a time is enough: parallel calls gain nothing.",
            "parallel-map",
            Ratio(
                {
                    "input that waits": ("waiting, with.seconds", "waiting, without.seconds"),
                    "input that computes, cores busy": (
                        "working, with.seconds",
                        "working, without.seconds",
                    ),
                },
                0.9,
            ),
            ("input-bound",),
            ("data",),
        ),
        Claim(
            "The shuffle buffer's size has to be chosen by the memory there is.",
            "buffers",
            Ratio({"4 000 rows against 100": ("shuffle, 4000.bytes", "shuffle, 100.bytes")}),
            ("big-shuffle",),
        ),
        Claim(
            "So has the prefetch buffer's.",
            "buffers",
            Ratio({"4 000 rows against 100": ("prefetch, 4000.bytes", "prefetch, 100.bytes")}),
            ("big-shuffle", "memory-pressure"),
        ),
        Claim(
            "The first example's loop, op by op over the pipeline, runs.",
            "examples",
            Runs({"as printed": "pipeline and eager loop"}),
            ("eager-step",),
        ),
        Claim(
            "The accumulation example runs.",
            "examples",
            Runs({"as printed": "accumulation with its counter undefined"}),
            ("accumulation-reset",),
        ),
        Claim(
            "With its counter supplied, it adds up the gradients of several batches, as one larger batch would.",
            "accumulated-update",
            Below(
                {"distance from the larger batch's update": "as printed.error"},
                0.001,
                "a thousandth of the update",
            ),
            ("accumulation-reset",),
        ),
        Claim(
            "Accumulation done right makes the update of one larger batch.",
            "accumulated-update",
            Below(
                {
                    "with sums made before the loop": "lasting sums.error",
                    "with `gradient_accumulation_steps`": "Keras.error",
                },
                0.001,
                "a thousandth of the update",
            ),
            ("accumulation-reset",),
        ),
        Claim(
            "Accumulation (done right) needs less memory than the large batch.",
            "accumulation-cost",
            Ratio(
                {"at once against eight parts": ("at once.peak bytes", "eight parts.peak bytes")}
            ),
            ("memory-pressure",),
            ("accumulation",),
        ),
        Claim(
            "It pays for that with time.",
            "accumulation-cost",
            Ratio(
                {
                    "eight parts against at once": (
                        "eight parts.seconds a row",
                        "at once.seconds a row",
                    )
                }
            ),
            ("tiny-batches",),
            ("accumulation",),
        ),
        Claim(
            "The mixed-precision example runs.",
            "examples",
            Runs({"as printed": "mixed-precision policy"}),
            ("wide-dtypes",),
            ("precision",),
        ),
        Claim(
            "Half precision halves the memory.",
            "mixed-memory",
            Ratio(
                {
                    "mixed_float16": ("float32.peak bytes", "mixed_float16.peak bytes"),
                    "mixed_bfloat16": ("float32.peak bytes", "mixed_bfloat16.peak bytes"),
                },
                1.8,
            ),
            ("wide-dtypes", "memory-pressure"),
            ("precision",),
        ),
        Claim(
            "Mixed precision makes the training much faster on the right hardware.",
            "mixed-speed",
            Ratio(
                {
                    "mixed_float16": ("float32.seconds", "mixed_float16.seconds"),
                    "mixed_bfloat16": ("float32.seconds", "mixed_bfloat16.seconds"),
                },
                MUCH,
            ),
            ("wide-dtypes", "compute-bound"),
            ("precision",),
        ),
        Claim(
            "Its numerical stability is taken care of, with the rest of the code as it was.",
            "mixed-stability",
            Below(
                {
                    "a loop of one's own": "own loop.weights that did not move",
                    "`fit`": "fit.weights that did not move",
                },
                0.1,
                "a tenth of the weights",
            ),
            ("wide-dtypes",),
            ("precision",),
        ),
    ),
    (
        Untested(
            "Once the memory is full, the system swaps and the training becomes drastically slower.",
            "filling a machine's memory is no experiment for one that others use; unslow watches page faults, swap and"
            " the distance to the limit",
            ("memory-pressure",),
        ),
        Untested(
            "Spreading the work over several devices relieves the memory.",
            "one device here",
            ("memory-pressure",),
        ),
    ),
)
