"""PPO on a vectorised overhead-crane task (pure NumPy physics)."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

SEED = 5
N_ENVS, HORIZON = 128, 24
ITERS, EPOCHS, MINIBATCH = 34, 4, 512
GAMMA, LAM, CLIP, ENT = 0.98, 0.95, 0.2, 0.003


class Cranes:
    """N trolleys with a hanging load; the goal is to stop over the origin without swing."""

    def __init__(self, n, rng):
        self.n, self.rng = n, rng
        self.s = np.zeros((n, 4))
        self.t = np.zeros(n, int)
        self.reset(np.ones(n, bool))

    def reset(self, mask):
        k = int(mask.sum())
        self.s[mask] = np.stack([self.rng.uniform(-2, 2, k), np.zeros(k), self.rng.uniform(-0.3, 0.3, k), np.zeros(k)], 1)
        self.t[mask] = self.rng.integers(0, 40, k)

    def obs(self):
        x, v, th, om = self.s.T
        return np.stack([x, v, np.sin(th), np.cos(th), om], 1).astype(np.float32)

    def step(self, force):
        x, v, th, om = self.s.T
        f = 4.0 * np.clip(force, -1, 1)
        acc = (f + 0.5 * np.sin(th) * (om ** 2 + 9.81 * np.cos(th)) - 0.2 * v) / (1.0 + 0.5 * np.sin(th) ** 2)
        alpha = -(acc * np.cos(th) + 9.81 * np.sin(th)) - 0.05 * om
        dt = 0.05
        v, om = v + dt * acc, om + dt * alpha
        self.s = np.stack([x + dt * v, v, th + dt * om, om], 1)
        self.t += 1
        rew = -(0.3 * np.abs(self.s[:, 0]) + 0.1 * v ** 2 + 0.5 * th ** 2 + 0.01 * f ** 2)
        done = (np.abs(self.s[:, 0]) > 4) | (self.t >= 200)
        rew = rew - 5.0 * (np.abs(self.s[:, 0]) > 4)
        self.reset(done)
        return self.obs(), rew.astype(np.float32), done.astype(np.float32)


def build():
    inp = keras.Input((5,))
    h = keras.layers.Dense(640, activation="tanh")(inp)
    h = keras.layers.Dense(640, activation="tanh")(h)
    h = keras.layers.Dense(320, activation="tanh")(h)
    return keras.Model(inp, [keras.layers.Dense(1, name="mu")(h), keras.layers.Dense(1, name="value")(h)])


class PPO:
    def __init__(self):
        self.net = build()
        self.log_std = tf.Variable(-0.5 * tf.ones((1,)))
        self.opt = keras.optimizers.Adam(3e-4)
        self.params = self.net.trainable_variables + [self.log_std]
        self.opt.build(self.params)

    def logp(self, mu, a):
        z = (a - mu) / tf.exp(self.log_std)
        return tf.reduce_sum(-0.5 * z ** 2 - self.log_std - 0.919, -1)

    @tf.function
    def act(self, obs):
        mu, v = self.net(obs)
        a = mu + tf.exp(self.log_std) * tf.random.normal(tf.shape(mu))
        return a, self.logp(mu, a), v[:, 0]

    @tf.function
    def update(self, obs, a, lp_old, adv, ret):
        with tf.GradientTape() as tape:
            mu, v = self.net(obs)
            ratio = tf.exp(self.logp(mu, a) - lp_old)
            pg = -tf.reduce_mean(tf.minimum(ratio * adv, tf.clip_by_value(ratio, 1 - CLIP, 1 + CLIP) * adv))
            loss = pg + 0.5 * tf.reduce_mean((ret - v[:, 0]) ** 2) - ENT * tf.reduce_sum(self.log_std)
        self.opt.apply_gradients(zip(tape.gradient(loss, self.params), self.params))
        return loss


def rollout(agent, env, obs):
    buf = {k: [] for k in ("obs", "a", "lp", "v", "r", "d")}
    for _ in range(HORIZON):
        a, lp, v = agent.act(tf.constant(obs))
        nxt, r, d = env.step(a.numpy()[:, 0])
        for k, x in zip(buf, (obs, a.numpy(), lp.numpy(), v.numpy(), r, d)):
            buf[k].append(x)
        obs = nxt
    last = agent.act(tf.constant(obs))[2].numpy()
    return {k: np.array(x) for k, x in buf.items()}, obs, last


def gae(b, last):
    adv, run, nxt = np.zeros_like(b["r"]), np.zeros(N_ENVS, np.float32), last
    for t in reversed(range(HORIZON)):
        live = 1.0 - b["d"][t]
        run = b["r"][t] + GAMMA * live * nxt - b["v"][t] + GAMMA * LAM * live * run
        adv[t], nxt = run, b["v"][t]
    return adv, adv + b["v"]


def main():
    keras.utils.set_random_seed(SEED)
    rng = np.random.default_rng(SEED)
    env, agent = Cranes(N_ENVS, rng), PPO()
    obs, t0, curve = env.obs(), time.time(), []
    for it in range(ITERS):
        b, obs, last = rollout(agent, env, obs)
        t1 = time.time()
        adv, ret = gae(b, last)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        flat = [x.reshape((-1,) + x.shape[2:]) for x in (b["obs"], b["a"], b["lp"], adv, ret)]
        for _ in range(EPOCHS):
            order = rng.permutation(len(flat[0]))
            for s in range(0, len(order), MINIBATCH):
                loss = agent.update(*[tf.constant(x[order[s:s + MINIBATCH]]) for x in flat])
        curve.append(float(b["r"].mean()))
        print(f"iter {it:2d}  reward {curve[-1]:.3f}  loss {float(loss):.3f}  std {float(tf.exp(agent.log_std)[0]):.3f}  {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main()
