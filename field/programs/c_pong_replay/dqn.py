import random

import numpy as np
import tensorflow as tf

from env import Catch
from replay import Replay

CAPACITY = 1000
BATCH = 64
TOTAL = 1800
LEARN_EVERY = 2
random.seed(0)
np.random.seed(0)
tf.random.set_seed(0)


def net():
    return tf.keras.Sequential([
        tf.keras.Input((144,)),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(3),
    ])


online, frozen = net(), net()
frozen.set_weights(online.get_weights())
opt = tf.keras.optimizers.Adam(1e-3)
huber = tf.keras.losses.Huber()


@tf.function(input_signature=[tf.TensorSpec([1, 144])])
def best_action(s):
    return tf.argmax(online(s), axis=1)[0]


@tf.function
def learn(s, a, r, s2, d):
    target = r + 0.97 * (1.0 - d) * tf.reduce_max(frozen(s2), axis=1)
    with tf.GradientTape() as tape:
        q = tf.gather(online(s), a, axis=1, batch_dims=1)
        loss = huber(target, q)
    grads = tape.gradient(loss, online.trainable_variables)
    opt.apply_gradients(zip(grads, online.trainable_variables))
    return loss


def main():
    env, memory = Catch(seed=1), Replay(CAPACITY)
    s, wins, games, losses = env.reset(), 0, 0, []
    for t in range(1, TOTAL + 1):
        eps = max(0.1, 1.0 - t / 1000)
        a = random.randrange(3) if random.random() < eps else int(best_action(s[None]))
        s2, r, done = env.step(a)
        memory.push(s, a, r, s2, float(done))
        s = env.reset() if done else s2
        games += done
        wins += r > 0
        if len(memory) >= BATCH and t % LEARN_EVERY == 0:
            losses.append(float(learn(*memory.sample(BATCH))))
        if t % 300 == 0:
            frozen.set_weights(online.get_weights())
            print(f"t={t} loss={np.mean(losses[-100:]):.4f} wins={wins}/{games} memory={len(memory)}")


if __name__ == "__main__":
    main()
