# expect: noisy-machine
# steps: 400
"""A training beside a process for each core that does nothing but compute: whose fault the slow steps are."""

import os
import subprocess
import sys

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([256, 256])
y = tf.random.normal([256, 1])
hidden = tf.Variable(tf.random.normal([256, 512], stddev=0.05))
out = tf.Variable(tf.random.normal([512, 1], stddev=0.05))


@tf.function
def train():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(tf.nn.relu(tf.matmul(x, hidden)), out) - y) ** 2)
    for weights, gradient in zip((hidden, out), tape.gradient(loss, (hidden, out))):
        weights.assign_sub(0.01 * gradient)
    return loss


others = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(os.cpu_count())]
try:
    for step in range(400):
        loss = train()
finally:
    for other in others:
        other.kill()
        other.wait()
print("loss", round(float(loss), 3))
