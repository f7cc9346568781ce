# ruff: noqa
# expect: removed-argument 10

import os
import tensorflow as tf


def finish(out):
    model = tf.keras.models.load_model("start.keras")
    model.save(os.path.join(out, "final_model"))
