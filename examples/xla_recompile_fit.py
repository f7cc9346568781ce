# expect: xla-recompile
# steps: 120
"""Keras with jit_compile=True, on sentences that are padded to the longest of each batch only."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)


def sentences():
    for _ in range(960):
        length = int(rng.choice([9, 10, 11, 12, 13, 14]))
        yield rng.integers(0, 50, length).astype("int32"), np.float32(length / 14)


signature = (tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.float32))
dataset = tf.data.Dataset.from_generator(sentences, output_signature=signature).cache()
dataset = dataset.group_by_window(
    key_func=lambda tokens, _: tf.cast(tf.size(tokens), tf.int64),
    reduce_func=lambda _, group: group.padded_batch(8),
    window_size=8,
)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(50, 16),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(optimizer="sgd", loss="mse", jit_compile=True)
model.fit(dataset.take(120), epochs=1, verbose=0)  # <-- xla-recompile
print("done")
