# expect: shape-churn
# steps: 150
"""Sentences padded to the longest of each batch: nearly every batch has a length of its own, and each is kept."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)


class Tagger(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(500, 96)
        self.attend = [tf.keras.layers.MultiHeadAttention(4, 24) for _ in range(2)]
        self.mix = [tf.keras.layers.Dense(96, activation="relu") for _ in range(2)]
        self.out = tf.keras.layers.Dense(1)

    def call(self, tokens):
        x = self.embed(tokens)
        for attend, mix in zip(self.attend, self.mix):
            x = mix(x + attend(x, x))
        return self.out(x)


model = Tagger()
model(tf.zeros((2, 20), tf.int32))
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
def train_step(tokens):
    with tf.GradientTape() as tape:
        wanted = tf.cast(tokens % 2, tf.float32)[..., None]
        loss = tf.reduce_mean(tf.square(model(tokens) - wanted))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(150):
    longest = 60 + (37 * step) % 140
    sentences = tf.constant(rng.integers(0, 500, size=(12, longest)), tf.int32)
    loss = train_step(sentences)  # <-- shape-churn
print(f"loss {float(loss):.4f}")
