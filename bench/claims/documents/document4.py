"""Document 4: why every epoch takes longer than the last."""

from bench.claims.experiment import Above, Below, Claim, Document, Ratio, Runs

DOCUMENT = Document(
    4,
    "Why does a training slow down with every epoch?",
    (
        Claim(
            "The graph grows with the epochs, so a later epoch takes longer.",
            "epochs",
            Ratio({"epochs 19 to 24 against 3 to 8": ("fit.epochs 19 to 24", "fit.epochs 3 to 8")}),
            ("graph-growth", "noisy-machine"),
        ),
        Claim(
            "Every epoch leaves more in memory, because tensors of the forward pass are not given back.",
            "epochs",
            Above(
                {"`fit`": "fit.bytes an epoch"},
                1 << 20,
                "1 MiB an epoch; small blocks that stay are no tensors",
            ),
            ("hoarded-tensors", "native-growth"),
        ),
        Claim(
            "Tensors of past steps stay in memory unless one takes care.",
            "kept-results",
            Above(
                {
                    "the script keeps predictions in a list": "predictions.bytes an iteration",
                    "the script keeps floats": "floats.bytes an iteration",
                },
                4096,
                "4 KiB an iteration are 4 GiB in a million",
            ),
            ("hoarded-tensors",),
        ),
        Claim(
            "TensorFlow leaves many temporary files behind by default.",
            "temporary-files",
            Above(
                {"`fit` with checkpoints": "fit with checkpoints.temporary files"},
                0,
                "any file at all",
            ),
            ("file-growth",),
        ),
        Claim(
            "Checkpoints that pile up take more and more disk.",
            "pile",
            Ratio({"60 against 6": ("all kept.late bytes", "all kept.early bytes")}),
            ("file-growth",),
        ),
        Claim(
            "Checkpoints that pile up make later saves slower.",
            "pile",
            Ratio(
                {"saves 46 to 60 against 6 to 20": ("all kept.late saves", "all kept.early saves")}
            ),
            ("checkpoint-cost", "file-growth"),
        ),
        Claim(
            "Summaries that pile up make later writes slower.",
            "summaries",
            Ratio(
                {
                    "after 2 000 against after 300": (
                        "every step.late writes",
                        "every step.early writes",
                    )
                }
            ),
            ("summary-cost",),
        ),
        Claim(
            "The data that workers exchange grow with the number of epochs.",
            "traffic",
            Ratio(
                {"late epochs against early": ("two workers.late bytes", "two workers.early bytes")}
            ),
            ("noisy-machine",),
        ),
        Claim(
            "So the exchange makes later epochs slower.",
            "traffic",
            Ratio(
                {
                    "late epochs against early": (
                        "two workers.late epochs",
                        "two workers.early epochs",
                    )
                }
            ),
            ("noisy-machine",),
        ),
        Claim(
            "Later epochs improve the model less, so that the progress seems slower.",
            "epochs",
            Ratio(
                {
                    "loss gained, epochs 1 to 6 against 19 to 24": (
                        "fit.loss gained in epochs 1 to 6",
                        "fit.loss gained in epochs 19 to 24",
                    )
                }
            ),
            ("plateau",),
        ),
        Claim(
            "The first example, a compiled step that takes model and optimizer as arguments, runs.",
            "examples",
            Runs({"as printed": "compiled step of arguments"}),
            ("eager-step",),
        ),
        Claim(
            "A `tf.function` lowers the cost of the step.",
            "compiled-step",
            Ratio(
                {
                    "small model": ("small, eager.seconds", "small, compiled.seconds"),
                    "large model": ("large, eager.seconds", "large, compiled.seconds"),
                }
            ),
            ("eager-step",),
        ),
        Claim(
            "Without it, memory swells with the iterations.",
            "memory-per-iteration",
            Above(
                {"eager training": "eager.bytes an iteration"},
                4096,
                "4 KiB an iteration are 4 GiB in a million",
            ),
            ("hoarded-tensors", "native-growth"),
        ),
        Claim(
            "The gradient tape gives its memory back by itself once it was used.",
            "tape",
            Below(
                {
                    "an ordinary tape": "ordinary.bytes a tape",
                    "a persistent tape": "persistent.bytes a tape",
                },
                1 << 20,
                "1 MiB of the 32 MiB that a pass makes",
            ),
            ("hoarded-tensors",),
        ),
        Claim(
            "The checkpoint example (`period=`, a name that ends in .ckpt) runs.",
            "examples",
            Runs(
                {
                    "the argument `period`": "ModelCheckpoint(period=…)",
                    "weights named .ckpt": "weights named .ckpt",
                }
            ),
            ("removed-argument",),
        ),
        Claim(
            "The callback can be told how often to save.",
            "examples",
            Runs(
                {
                    "`save_freq` and .weights.h5 in place of them": "ModelCheckpoint(save_freq=…)",
                }
            ),
            ("removed-argument",),
        ),
        Claim(
            "Saving after every epoch takes too much time; every fifth is better.",
            "save-period",
            Ratio(
                {
                    "epochs of 10 steps": (
                        "10 steps, every epoch.seconds an epoch",
                        "10 steps, every fifth.seconds an epoch",
                    ),
                    "epochs of 150 steps": (
                        "150 steps, every epoch.seconds an epoch",
                        "150 steps, every fifth.seconds an epoch",
                    ),
                }
            ),
            ("checkpoint-cost",),
        ),
        Claim(
            "Saving only the weights makes the checkpoints smaller.",
            "weights-only",
            Ratio({"bytes": ("whole model.bytes", "weights only.bytes")}),
            ("checkpoint-cost", "file-growth"),
        ),
        Claim(
            "The clean-up example, which deletes a folder of a guessed name after the training, runs.",
            "examples",
            Runs({"as printed": "cleaning up a guessed folder"}),
            ("blind-cleanup",),
        ),
        Claim(
            "There is such a folder to delete.",
            "temporary-files",
            Above(
                {"folders left": "fit with checkpoints.temporary files"},
                0,
                "any file or folder at all",
            ),
            ("blind-cleanup",),
        ),
        Claim(
            "Setting the log level to errors clears the log folder.",
            "temporary-files",
            Above(
                {"bytes removed": "fit with checkpoints.bytes removed by setting the log level"},
                0,
                "any byte at all",
            ),
            ("blind-cleanup",),
        ),
        Claim(
            "Less logging makes the training faster.",
            "logging",
            Ratio(
                {
                    "log level": ("level INFO.seconds", "level ERROR.seconds"),
                    "progress bar": ("progress bar.seconds", "level ERROR.seconds"),
                }
            ),
            ("summary-cost", "slow-callbacks"),
        ),
    ),
)
