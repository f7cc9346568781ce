"""REINFORCE with a learned baseline in a noisy corridor."""
import numpy as np
import tensorflow as tf


class Corridor:
    """Walk right to the exit; slippery floor, so episodes differ in length."""

    def __init__(self, length, slip, rng):
        self.length, self.slip, self.rng = length, slip, rng

    def reset(self):
        self.x, self.t = 0, 0
        return self.obs()

    def obs(self):
        return np.array([self.x / self.length, np.sin(self.x), np.cos(self.x), self.t / 100.0], np.float32)

    def step(self, a):
        move = 1 if a == 1 else -1
        if self.rng.random() < self.slip:
            move = -move
        self.x = max(0, self.x + move)
        self.t += 1
        done = self.x >= self.length or self.t >= 110
        return self.obs(), (1.0 if self.x >= self.length else -0.01), done


def build_nets():
    policy = tf.keras.Sequential([
        tf.keras.Input((4,)),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(2, activation="softmax"),
    ])
    baseline = tf.keras.Sequential([
        tf.keras.Input((4,)),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    return policy, baseline


policy, baseline = build_nets()
policy_opt = tf.keras.optimizers.Adam(5e-3)
baseline_opt = tf.keras.optimizers.Adam(1e-2)


@tf.function
def update(states, actions, returns):
    with tf.GradientTape() as bt:
        v = baseline(states, training=True)[:, 0]
        b_loss = tf.reduce_mean(tf.square(returns - v))
    g = bt.gradient(b_loss, baseline.trainable_variables)
    baseline_opt.apply_gradients(zip(g, baseline.trainable_variables))
    adv = returns - tf.stop_gradient(v)
    with tf.GradientTape() as pt:
        probs = policy(states, training=True)
        chosen = tf.reduce_sum(probs * tf.one_hot(actions, 2), axis=1)
        p_loss = -tf.reduce_mean(tf.math.log(chosen + 1e-8) * adv)
    g = pt.gradient(p_loss, policy.trainable_variables)
    policy_opt.apply_gradients(zip(g, policy.trainable_variables))
    return p_loss


def run_episode(env, rng):
    states, actions, rewards = [], [], []
    s, done = env.reset(), False
    while not done:
        probs = policy(s.reshape(1, -1)).numpy()[0]
        a = rng.choice(2, p=probs / probs.sum())
        states.append(s)
        actions.append(a)
        s, r, done = env.step(a)
        rewards.append(r)
    returns = np.zeros(len(rewards), np.float32)
    total = 0.0
    for i in reversed(range(len(rewards))):
        total = rewards[i] + 0.99 * total
        returns[i] = total
    return np.array(states), np.array(actions, np.int32), returns


def main(episodes=24):
    rng = np.random.default_rng(21)
    env = Corridor(12, 0.2, rng)
    lengths = []
    for ep in range(1, episodes + 1):
        states, actions, returns = run_episode(env, rng)
        loss = update(states, actions, returns)
        lengths.append(len(states))
        if ep % 6 == 0:
            print(f"episode {ep:3d}  loss {float(loss):+.3f}  mean length {np.mean(lengths[-6:]):.1f}")


if __name__ == "__main__":
    main()
