"""Neural epsilon-greedy bandit that chooses a headline for each visitor segment.

After every day of traffic the reward model is refined on everything observed up to now.
"""
from typing import NamedTuple

import numpy as np
import tensorflow as tf


class Settings(NamedTuple):
    days: int = 60
    visitors: int = 40
    context: int = 12
    arms: int = 6
    epochs_per_day: int = 6
    epsilon: float = 0.15
    rate: float = 0.003


class World:
    def __init__(self, s, seed=30):
        self.rng = np.random.default_rng(seed)
        self.taste = self.rng.normal(size=(s.context, s.arms))
        self.s = s

    def visitors(self):
        n = self.s.visitors + int(self.rng.integers(-8, 9))
        return self.rng.normal(size=(n, self.s.context)).astype(np.float32)

    def click(self, who, arm):
        score = (who @ self.taste)[np.arange(len(who)), arm] - 1.0
        return (self.rng.random(len(who)) < 1 / (1 + np.exp(-score))).astype(np.float32)


class RewardModel:
    def __init__(self, s):
        self.net = tf.keras.Sequential([
            tf.keras.layers.Input((s.context,)),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(s.arms),
        ])
        self.opt = tf.keras.optimizers.Adam(s.rate)
        self.opt.build(self.net.trainable_variables)
        self.arms = s.arms

    def scores(self, who):
        return self.net.predict_on_batch(who)

    @tf.function
    def refine(self, who, arm, clicked):
        with tf.GradientTape() as tape:
            logits = tf.reduce_sum(self.net(who, training=True) * tf.one_hot(arm, self.arms), 1)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(clicked, logits))
        self.opt.apply_gradients(zip(tape.gradient(loss, self.net.trainable_variables), self.net.trainable_variables))
        return loss


def simulate(s=Settings()):
    tf.keras.utils.set_random_seed(30)
    world, model = World(s), RewardModel(s)
    who_log = np.zeros((0, s.context), np.float32)
    arm_log, click_log = np.zeros(0, np.int32), np.zeros(0, np.float32)
    rates = []
    for day in range(s.days):
        who = world.visitors()
        arm = model.scores(who).argmax(1).astype(np.int32)
        lucky = world.rng.random(len(who)) < s.epsilon
        arm[lucky] = world.rng.integers(0, s.arms, lucky.sum())
        clicks = world.click(who, arm)
        who_log = np.concatenate([who_log, who])
        arm_log = np.concatenate([arm_log, arm])
        click_log = np.concatenate([click_log, clicks])
        data = tf.constant(who_log), tf.constant(arm_log), tf.constant(click_log)
        for _ in range(s.epochs_per_day):
            loss = model.refine(*data)
        rates.append(clicks.mean())
        if day % 10 == 9:
            print("day %2d  events %5d  click rate %.3f  loss %.4f" % (day + 1, len(who_log), np.mean(rates[-10:]), loss))


if __name__ == "__main__":
    simulate()
