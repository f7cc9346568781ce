import tempfile

import tensorflow as tf

from engine.trainer import AccumulatingTrainer

CONFIG = {
    "accumulate": 4,
    "updates": 30,
    "lr": 1e-3,
    "model": {"type": "mixer", "tokens": 48, "channels": 96, "depth": 4, "classes": 10, "vocab": 6000},
    "data": {"type": "motifs", "count": 6000, "tokens": 48, "vocab": 6000, "classes": 10, "batch": 24, "seed": 4},
    "hooks": [
        {"type": "print", "every": 10},
        {"type": "board", "folder": "tb"},
        {"type": "snapshot", "folder": "ckpt", "keep": 3},
    ],
}

if __name__ == "__main__":
    tf.keras.utils.set_random_seed(4)
    with tempfile.TemporaryDirectory() as workdir:
        AccumulatingTrainer(CONFIG, workdir).run()
