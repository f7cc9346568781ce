"""Document 1: why session runs slow a training down."""

from bench.claims.experiment import MUCH, Claim, Document, Ratio, Runs, Untested

DOCUMENT = Document(
    1,
    "Why do `Session.run` calls make a training slow?",
    (
        Claim(
            "Several `run` calls in a step, each with the batch, are slower than one call that fetches everything.",
            "run-calls",
            Ratio(
                {
                    "tiny model": ("tiny, two runs.seconds", "tiny, one run.seconds"),
                    "large model": ("large, two runs.seconds", "large, one run.seconds"),
                }
            ),
            ("many-session-runs",),
        ),
        Claim(
            "Finding the ops to run costs a noticeable time in every call, above all in a large graph.",
            "bystanders",
            Ratio({"500 times the ops": ("5000 others.seconds", "10 others.seconds")}),
            ("graph-growth",),
        ),
        Claim(
            "The fixed cost of a call weighs more the more complex the model is.",
            "fixed-share",
            Ratio({"large against tiny": ("large.share", "tiny.share")}),
            ("tiny-batches", "compute-bound"),
        ),
        Claim(
            "Bringing the batch from Python into the engine is often a large part of the time, with large batches.",
            "feeding",
            Ratio(
                {
                    "small batch": ("small, fed.seconds", "small, held.seconds"),
                    "8 MB a batch, little to compute": ("8 MB, fed.seconds", "8 MB, held.seconds"),
                }
            ),
            ("feed-dict",),
        ),
        Claim(
            "Small batches pay more of the fixed cost for each row.",
            "batch-size",
            Ratio(
                {
                    "4 rows against 512": (
                        "batches of 4.seconds a row",
                        "batches of 512.seconds a row",
                    )
                }
            ),
            ("tiny-batches",),
            ("batch",),
        ),
        Claim(
            "One call of the engine for each update is slow; several updates in a call are faster.",
            "updates-per-call",
            Ratio(
                {
                    "small model": ("small, one.seconds", "small, twenty.seconds"),
                    "large model": ("large, one.seconds", "large, five.seconds"),
                }
            ),
            ("tiny-batches",),
            ("execution",),
        ),
        Claim(
            "Fetching more tensors in a call makes the call slower.",
            "fetches",
            Ratio(
                {
                    "20 scalars that are there anyway": (
                        "twenty scalars.seconds",
                        "training only.seconds",
                    ),
                    "a matrix of 4 MB": ("one matrix.seconds", "training only.seconds"),
                }
            ),
            ("over-fetching",),
        ),
        Claim(
            "Slow preprocessing makes the `run` calls longer.",
            "preprocessing",
            Ratio(
                {
                    "the whole step": ("row by row.seconds", "all at once.seconds"),
                    "the time inside `run`": (
                        "row by row.seconds in run",
                        "all at once.seconds in run",
                    ),
                }
            ),
            ("python-input", "python-overhead"),
        ),
        Claim(
            "A tf.data pipeline in place of `feed_dict` makes the training much faster.",
            "feeding",
            Ratio(
                {
                    "small batch, rows of an array": (
                        "small, fed.seconds",
                        "small, array pipeline.seconds",
                    ),
                    "small batch, Python generator as advised": (
                        "small, fed.seconds",
                        "small, generator pipeline.seconds",
                    ),
                    "8 MB, rows of an array": ("8 MB, fed.seconds", "8 MB, array pipeline.seconds"),
                    "8 MB, Python generator as advised": (
                        "8 MB, fed.seconds",
                        "8 MB, generator pipeline.seconds",
                    ),
                },
                MUCH,
            ),
            ("feed-dict", "python-input"),
        ),
        Claim(
            "A one-shot iterator is the efficient kind of iterator.",
            "one-shot",
            Ratio(
                {"initialisable against one-shot": ("initialisable.seconds", "one-shot.seconds")}
            ),
            ("iterator-rebuilt",),
        ),
        Claim(
            "XLA makes the computation faster still.",
            "xla",
            Ratio(
                {
                    "elementwise chain": ("elementwise, plain.seconds", "elementwise, XLA.seconds"),
                    "small model": ("small model, plain.seconds", "small model, XLA.seconds"),
                    "large model": ("large model, plain.seconds", "large model, XLA.seconds"),
                }
            ),
            ("compute-bound", "xla-recompile"),
            ("xla",),
        ),
        Claim(
            "The examples with one and with two `run` calls in a step run as printed.",
            "examples",
            Runs(
                {
                    "two runs, as printed": "two runs, TensorFlow 1 names",
                    "one run, as printed": "one run, TensorFlow 1 names",
                }
            ),
            ("many-session-runs",),
        ),
        Claim(
            "They run through `tf.compat.v1`.",
            "examples",
            Runs(
                {
                    "two runs, through `tf.compat.v1`": "two runs, tf.compat.v1",
                    "one run, through `tf.compat.v1`": "one run, tf.compat.v1",
                }
            ),
            ("many-session-runs",),
        ),
        Claim(
            "The example that is to do without feeding, by feeding what the pipeline's iterator returns, runs.",
            "examples",
            Runs(
                {
                    "the iterator's method": "iterator as a method",
                    "its tensor as a value to feed": "iterator's tensor fed, tf.compat.v1",
                }
            ),
            ("symbolic-feed",),
        ),
    ),
    (
        Untested(
            "The effect is larger still with large datasets on a cluster.",
            "no cluster; what a step costs does not depend on how many rows are still to come",
            ("feed-dict",),
        ),
    ),
)
