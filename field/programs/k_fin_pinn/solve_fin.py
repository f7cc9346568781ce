"""Temperature along a cooling fin that loses heat by air and by radiation, by a physics-informed network.

    u'' = a u + b u^4,   u(0) = 1,   u'(1) = -h u(1)
"""
import argparse

import numpy as np
import tensorflow as tf

from balance import Curriculum

parser = argparse.ArgumentParser()
parser.add_argument("--updates", type=int, default=120)
parser.add_argument("--points", type=int, default=512)
parser.add_argument("--width", type=int, default=48)
parser.add_argument("--lr", type=float, default=4e-3)


class Field(tf.Module):
    def __init__(self, width):
        super().__init__()
        self.net = tf.keras.Sequential(
            [tf.keras.Input((1,))]
            + [tf.keras.layers.Dense(width, activation="tanh") for _ in range(2)]
            + [tf.keras.layers.Dense(1)]
        )

    def derivatives(self, x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                u = self.net(x)
            slope = inner.gradient(u, x)
        return u, slope, outer.gradient(slope, x)


class Solver:
    convection, radiation, loss_at_tip = 2.0, 0.8, 0.3

    def __init__(self, args):
        self.field = Field(args.width)
        self.optimizer = tf.keras.optimizers.Adam(args.lr)
        self.optimizer.build(self.field.net.trainable_variables)
        self.curriculum = Curriculum(args.updates)
        self.ends = tf.constant([[0.0], [1.0]])

    def losses(self, x):
        u, slope, bend = self.field.derivatives(tf.concat([self.ends, x], 0))
        heat = bend - self.convection * u - self.radiation * u**4
        equation = tf.reduce_mean(tf.square(heat[2:]))
        root = tf.square(u[0, 0] - 1.0)
        tip = tf.square(slope[1, 0] + self.loss_at_tip * u[1, 0])
        return equation, root, tip

    @tf.function
    def step(self, x, balance):
        with tf.GradientTape() as tape:
            equation, root, tip = self.losses(x)
            total = balance.equation * equation + balance.root * root + balance.tip * tip
        weights = self.field.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(total, weights), weights))
        return total, equation

    def run(self, updates, points):
        rng = np.random.default_rng(11)
        for update in range(updates):
            x = tf.constant(rng.random((points, 1)), tf.float32)
            total, equation = self.step(x, self.curriculum.at(update))
            if update % 40 == 0 or update == updates - 1:
                print(f"update {update:4d}  total {float(total):.5f}  equation {float(equation):.5f}")


if __name__ == "__main__":
    args = parser.parse_args()
    tf.keras.utils.set_random_seed(11)
    solver = Solver(args)
    solver.run(args.updates, args.points)
    tip = float(solver.field.net(tf.ones((1, 1)))[0, 0])
    print(f"temperature at the tip {tip:.4f}")
