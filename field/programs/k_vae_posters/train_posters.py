"""Variational autoencoder on synthetic posters (three discs on a graded ground)."""
import numpy as np
import tensorflow as tf

from board import Board
from vae import VAE

SIDE, BATCH, EPOCHS, UPDATES = 64, 32, 4, 70


def posters(n, rng):
    r, c = np.mgrid[:SIDE, :SIDE].astype("float32") / SIDE
    x = np.empty((n, SIDE, SIDE, 3), "float32")
    for i in range(n):
        a, b = rng.random((2, 3))
        x[i] = a * r[..., None] + b * (1 - r[..., None])
        for _ in range(3):
            y0, x0, size = rng.uniform(0.15, 0.85, 2).tolist() + [rng.uniform(0.08, 0.22)]
            x[i][(r - y0) ** 2 + (c - x0) ** 2 < size**2] = rng.random(3)
    return x


class Trainer:
    def __init__(self, model, board, beta=0.5):
        self.model, self.board, self.beta = model, board, beta
        self.optimizer = tf.keras.optimizers.Adam(2e-3)

    @tf.function
    def step(self, x):
        with tf.GradientTape() as tape:
            rebuilt, mean, log_var = self.model(x)
            pixels = tf.reduce_mean(tf.reduce_sum(tf.square(x - rebuilt), axis=(1, 2, 3)))
            kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + log_var - mean**2 - tf.exp(log_var), axis=1))
            loss = pixels + self.beta * kl
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return pixels, kl, rebuilt

    def epoch(self, data):
        for x in data:
            pixels, kl, rebuilt = self.step(x)
            self.board.note(pixels=pixels, kl=kl, original=x, rebuilt=rebuilt)


def main():
    tf.keras.utils.set_random_seed(17)
    data = tf.data.Dataset.from_tensor_slices(posters(640, np.random.default_rng(17)))
    data = data.shuffle(640, seed=17).repeat().batch(BATCH).take(UPDATES).prefetch(1)
    board = Board()
    trainer = Trainer(VAE(SIDE), board)
    for epoch in range(EPOCHS):
        trainer.epoch(data)
        print(f"epoch {epoch + 1}: pixels {board.mean('pixels', UPDATES):.2f} kl {board.mean('kl', UPDATES):.2f}")
    strip = board.strip()
    print("strip", strip.shape, f"mean {strip.mean():.3f}")


if __name__ == "__main__":
    main()
