# Character model on a made-up log language. Can be stopped and started again at any time.
import argparse
import os

import numpy as np
import tensorflow as tf


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--out", default="out/lm")
    p.add_argument("--steps", type=int, default=110)
    p.add_argument("--seq", type=int, default=16)
    p.add_argument("--batch", type=int, default=16)
    return p.parse_args()


class CharModel(tf.keras.Model):
    def __init__(self, vocab):
        super().__init__()
        self.emb = tf.keras.layers.Embedding(vocab, 64)
        self.mix = tf.keras.layers.Conv1D(256, 8, padding="causal", activation="relu")
        self.mix2 = tf.keras.layers.Conv1D(256, 8, padding="causal", activation="relu")
        self.head = tf.keras.layers.Dense(vocab)

    def call(self, x):
        return self.head(self.mix2(self.mix(self.emb(x))))


def main():
    args = parse()
    rng = np.random.default_rng(0)
    text = rng.choice(np.arange(48), p=np.arange(48, 0, -1) / np.arange(49).sum(), size=20000)
    ds = tf.data.Dataset.from_tensor_slices(text.astype("int32")).batch(args.seq + 1, drop_remainder=True)
    ds = ds.map(lambda s: (s[:-1], s[1:])).cache().shuffle(1200).repeat().batch(args.batch).prefetch(1)

    model = CharModel(48)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step_fn(x, y):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    counter = tf.Variable(0, dtype=tf.int64)
    ckpt = tf.train.Checkpoint(model=model, optimizer=optimizer, step=counter)
    manager = tf.train.CheckpointManager(ckpt, args.out, max_to_keep=None)
    if manager.latest_checkpoint:
        ckpt.restore(manager.latest_checkpoint)
        print("resumed from", manager.latest_checkpoint)

    for x, y in ds.take(args.steps):
        loss = step_fn(x, y)
        counter.assign_add(1)
        manager.save(checkpoint_number=counter)
        if int(counter) % 20 == 0:
            print(f"step {int(counter)} loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
