"""Document 5: why the first step takes so much longer than the others."""

from bench.claims.experiment import Above, Below, Claim, Document, Ratio, Runs, Untested

_SLOW = ("slow-first-step",)

DOCUMENT = Document(
    5,
    "Why does the first step take so much longer than the others?",
    (
        Claim(
            "The first step takes far longer than the later ones.",
            "first-step",
            Ratio(
                {
                    "linear regression": ("linear.first step", "linear.later steps"),
                    "convolutions": ("convolutions.first step", "convolutions.later steps"),
                },
                2.0,
            ),
            _SLOW,
        ),
        Claim(
            "Most of it is building and optimising the graph.",
            "first-step-parts",
            Above({"tracing and preparing": "parts.graph's share"}, 0.5, "half of the first step"),
            _SLOW,
        ),
        Claim(
            "The graph is built once; later steps use it again.",
            "first-step-parts",
            Below({"traces in 61 steps": "parts.traces in 61 steps"}, 1, "one trace"),
            ("slow-first-step", "retracing"),
        ),
        Claim(
            "Initialising the weights is a large part of it.",
            "first-step-parts",
            Above(
                {"making the model": "parts.weights' share"}, 0.25, "a quarter of the first step"
            ),
            _SLOW,
        ),
        Claim(
            "The initialiser that is chosen makes a difference.",
            "initialisers",
            Ratio(
                {
                    "16 columns, random against zeros": (
                        "16, glorot_uniform.seconds",
                        "16, zeros.seconds",
                    ),
                    "16 columns, orthogonal against random": (
                        "16, orthogonal.seconds",
                        "16, glorot_uniform.seconds",
                    ),
                    "2 048 columns, random against zeros": (
                        "2048, glorot_uniform.seconds",
                        "2048, zeros.seconds",
                    ),
                    "2 048 columns, orthogonal against random": (
                        "2048, orthogonal.seconds",
                        "2048, glorot_uniform.seconds",
                    ),
                }
            ),
            _SLOW,
        ),
        Claim(
            "Models with many weights take longer to initialise.",
            "initialisers",
            Ratio(
                {
                    "16 000 times the weights": (
                        "2048, glorot_uniform.seconds",
                        "16, glorot_uniform.seconds",
                    )
                }
            ),
            _SLOW,
        ),
        Claim(
            "Making placeholders adds to the first step.",
            "placeholders",
            Above(
                {"two placeholders": "session.placeholders' share"},
                0.1,
                "a tenth of the first step",
            ),
            _SLOW,
        ),
        Claim(
            "The optimizer that is chosen changes the first step.",
            "optimizers",
            Ratio(
                {
                    "Adam against SGD": ("adam.first step", "sgd.first step"),
                    "RMSprop against SGD": ("rmsprop.first step", "sgd.first step"),
                }
            ),
            _SLOW,
            ("optimizer",),
        ),
        Claim(
            "The graph of the gradients is a real part of what is built.",
            "backward-graph",
            Ratio(
                {"with gradients against forward": ("with gradients.tracing", "forward.tracing")}
            ),
            _SLOW,
        ),
        Claim(
            "Setting up the device is a noticeable part.",
            "first-step-parts",
            Above(
                {"the first op, on a CPU": "parts.device's share"}, 0.1, "a tenth of the first step"
            ),
            _SLOW,
        ),
        Claim(
            "`compile()` builds much of the graph and so adds to the first step.",
            "first-step",
            Above(
                {
                    "linear regression": "linear.compile() of the first step",
                    "convolutions": "convolutions.compile() of the first step",
                },
                0.1,
                "a tenth of the first step",
            ),
            _SLOW,
        ),
        Claim(
            "Drawing weights by hand before the training lengthens the way to the first step.",
            "preset-weights",
            Ratio(
                {
                    "set by hand against left alone": (
                        "set by hand.to the end of the first step",
                        "left alone.to the end of the first step",
                    )
                }
            ),
            _SLOW,
        ),
        Claim(
            "A `tf.function` makes the later steps faster.",
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
            "A `tf.function` is a just-in-time compiler: asking for XLA by name adds nothing to its first call.",
            "xla",
            Ratio(
                {
                    "small model": ("small model, plain.first call", "small model, XLA.first call"),
                    "large model": ("large model, plain.first call", "large model, XLA.first call"),
                },
                0.9,
            ),
            ("slow-first-step", "xla-recompile"),
            ("xla",),
        ),
        Claim(
            "The three examples run as printed.",
            "examples",
            Runs(
                {
                    "linear model and `fit`": "fit of a linear model",
                    "weights set by hand": "fit with weights set by hand",
                    "compiled step": "compiled step of a global optimizer",
                }
            ),
            _SLOW,
        ),
    ),
    (
        Untested(
            "Allocating memory on a GPU, or on several, is a large part of the first step.",
            "no GPU here; on the CPU the start of the device is measured above",
            _SLOW,
        ),
    ),
)
