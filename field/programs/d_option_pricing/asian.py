# Monte Carlo price of an arithmetic Asian call
import math
import sys

import numpy as np
import tensorflow as tf

S0, STRIKE, RATE, VOL, YEARS = 100.0, 103.0, 0.02, 0.25, 1.0
DAYS = 126
PATHS = 120_000
ROUNDS = 24 if len(sys.argv) < 2 else int(sys.argv[1])

dt = YEARS / DAYS
drift = (RATE - 0.5 * VOL ** 2) * dt
scale = VOL * math.sqrt(dt)
generator = tf.random.Generator.from_seed(2024)


@tf.function
def one_round():
    noise_sum = tf.zeros([PATHS])
    level_sum = tf.zeros([PATHS])
    for day in tf.range(1, DAYS + 1):
        noise_sum += scale * generator.normal([PATHS])
        level_sum += tf.exp(drift * tf.cast(day, tf.float32) + noise_sum)
    average = S0 * level_sum / DAYS
    return tf.reduce_mean(tf.nn.relu(average - STRIKE)) * math.exp(-RATE * YEARS)


prices = []
for r in range(ROUNDS):
    prices.append(float(one_round()))
    error = np.std(prices) / math.sqrt(len(prices))
    print(f"round {r:2d}: {prices[-1]:.4f}   running price {np.mean(prices):.4f} +- {error:.4f}")
print("price", sum(prices) / len(prices))
