"""Tiles with glaze patterns, painted by a small least-squares GAN whose discriminator sees fading noise."""
import dataclasses
import math

import keras
import numpy as np
import tensorflow as tf
from keras import layers


@dataclasses.dataclass(frozen=True)
class Plan:
    rounds: int = 18
    batches: int = 8
    batch: int = 32
    side: int = 32
    latent: int = 48
    blur_start: float = 0.5
    blur_half_life: float = 6.0
    seed: int = 8

    def blur(self, done):
        return self.blur_start * 0.5 ** (done / self.blur_half_life)


def tiles(plan):
    rng = np.random.default_rng(plan.seed)
    t = np.linspace(0, 2 * math.pi, plan.side, dtype=np.float32)
    y, x = np.meshgrid(t, t, indexing="ij")
    count = plan.batches * plan.batch
    k = rng.integers(1, 4, (count, 2, 1, 1))
    shift = rng.uniform(0, 2 * math.pi, (count, 1, 1))
    wave = np.sin(k[:, 0] * x + k[:, 1] * y + shift)
    return np.stack([wave, wave ** 2, -wave], -1).astype(np.float32)


def painter(plan):
    x = z = layers.Input((plan.latent,))
    x = layers.Dense(4 * 4 * 64)(x)
    x = layers.Reshape((4, 4, 64))(x)
    for filters in (48, 32, 24):
        x = layers.Conv2DTranspose(filters, 4, strides=2, padding="same")(x)
        x = layers.GroupNormalization(8)(x)
        x = layers.LeakyReLU(0.2)(x)
    return keras.Model(z, layers.Conv2D(3, 3, padding="same", activation="tanh")(x))


def judge(plan):
    x = tile = layers.Input((plan.side, plan.side, 3))
    for filters in (24, 48, 64):
        x = layers.Conv2D(filters, 4, strides=2, padding="same")(x)
        x = layers.ELU()(x)
    return keras.Model(tile, layers.Dense(1)(layers.Flatten()(x)))


class Workshop:
    def __init__(self, plan):
        self.plan = plan
        self.painter, self.judge = painter(plan), judge(plan)
        self.hands = keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.eyes = keras.optimizers.Adam(2e-4, beta_1=0.5)
        self.hands.build(self.painter.trainable_variables)
        self.eyes.build(self.judge.trainable_variables)

    def view(self, tile, blur):
        return tile + blur * tf.random.normal(tf.shape(tile))

    @tf.function
    def practise(self, real, blur):
        z = tf.random.normal((self.plan.batch, self.plan.latent))
        with tf.GradientTape() as eye_tape, tf.GradientTape() as hand_tape:
            fake = self.painter(z, training=True)
            good = self.judge(self.view(real, blur), training=True)
            bad = self.judge(self.view(fake, blur), training=True)
            eye_loss = tf.reduce_mean((good - 1) ** 2) + tf.reduce_mean(bad ** 2)
            hand_loss = tf.reduce_mean((bad - 1) ** 2)
        weights = self.judge.trainable_variables
        self.eyes.apply_gradients(zip(eye_tape.gradient(eye_loss, weights), weights))
        weights = self.painter.trainable_variables
        self.hands.apply_gradients(zip(hand_tape.gradient(hand_loss, weights), weights))
        return eye_loss, hand_loss

    def round(self, number, data):
        blur = self.plan.blur(number)
        totals = np.zeros(2)
        for real in data:
            totals += [float(v) for v in self.practise(real, blur)]
        return totals / self.plan.batches


def main():
    plan = Plan()
    keras.utils.set_random_seed(plan.seed)
    data = tf.data.Dataset.from_tensor_slices(tiles(plan)).shuffle(256, seed=plan.seed).batch(plan.batch)
    shop = Workshop(plan)
    for number in range(plan.rounds):
        eye, hand = shop.round(number, data)
        print(f"round {number + 1:2d}/{plan.rounds}  judge {eye:.4f}  painter {hand:.4f}")


if __name__ == "__main__":
    main()
