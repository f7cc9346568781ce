"""Model-based control of a lift cabin: an ensemble of dynamics models and random-shooting MPC."""
import argparse
import collections

import numpy as np
import tensorflow as tf

Transition = collections.namedtuple("Transition", "obs act nxt")
OBS, ACT = 6, 2


class Lift:
    """Two coupled cabins with elastic cables; tracks a moving reference height."""

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.s = self.rng.uniform(-0.5, 0.5, OBS).astype(np.float32)
        return self.s.copy()

    def step(self, a):
        h, v, ref = self.s[:2], self.s[2:4], self.s[4:]
        acc = 2.0 * a - 0.8 * v - 0.5 * np.sin(2 * h) + 0.3 * (h[::-1] - h)
        v = v + 0.1 * acc
        h = h + 0.1 * v
        ref = ref + 0.05 * np.sin(3 * ref[::-1])
        self.s = np.concatenate([h, v, ref]).astype(np.float32)
        return self.s.copy(), -float(np.square(h - ref).sum() + 0.01 * np.square(a).sum())


class Dynamics(tf.Module):
    def __init__(self, width, seed):
        super().__init__()
        init = tf.keras.initializers.HeNormal(seed)
        sizes = [OBS + ACT, width, width, width, OBS]
        self.layers = [(tf.Variable(init((a, b))), tf.Variable(tf.zeros(b)))
                       for a, b in zip(sizes[:-1], sizes[1:])]
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.opt.build(self.trainable_variables)

    def __call__(self, obs, act):
        x = tf.concat([obs, act], -1)
        for w, b in self.layers[:-1]:
            x = tf.nn.silu(x @ w + b)
        w, b = self.layers[-1]
        return obs + x @ w + b


def make_update(models):
    @tf.function
    def update(obs, act, nxt):
        losses = []
        for k, model in enumerate(models):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(obs[k], act[k]) - nxt[k]))
            grads = tape.gradient(loss, model.trainable_variables)
            model.opt.apply_gradients(zip(grads, model.trainable_variables))
            losses.append(loss)
        return losses
    return update


def make_planner(models, horizon, candidates):
    @tf.function(input_signature=[tf.TensorSpec([OBS], tf.float32)])
    def plan(obs):
        acts = tf.random.uniform([horizon, candidates, ACT], -1.0, 1.0)
        total = tf.zeros([candidates])
        for model in models:
            s = tf.repeat(obs[None], candidates, 0)
            for t in range(horizon):
                s = model(s, acts[t])
                total -= tf.reduce_sum(tf.square(s[:, :2] - s[:, 4:]), -1)
        return acts[0, tf.argmax(total)]
    return plan


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--models", type=int, default=4)
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--updates", type=int, default=90)
    p.add_argument("--batch", type=int, default=256)
    args = p.parse_args()

    rng = np.random.default_rng(12)
    tf.random.set_seed(12)
    env = Lift(rng)
    models = [Dynamics(args.width, i) for i in range(args.models)]
    update = make_update(models)
    plan = make_planner(models, horizon=6, candidates=192)
    memory = []

    def run_episode(policy):
        obs, ret = env.reset(), 0.0
        for _ in range(args.steps):
            act = policy(obs)
            nxt, r = env.step(act)
            memory.append(Transition(obs, act, nxt))
            obs, ret = nxt, ret + r
        return ret

    for _ in range(6):
        run_episode(lambda o: rng.uniform(-1, 1, ACT).astype(np.float32))
    for k in range(args.rounds):
        obs, act, nxt = (np.stack(c) for c in zip(*memory))
        losses = []
        for u in range(args.updates):
            pick = rng.integers(0, len(obs), (args.models, args.batch))
            losses.append([float(v) for v in update(obs[pick], act[pick], nxt[pick])])
        ret = run_episode(lambda o: plan(tf.constant(o)).numpy())
        print("round %d  data %4d  loss %s  return %.2f" % (
            k, len(memory), np.round(np.mean(losses[-20:], 0), 5), ret))


if __name__ == "__main__":
    main()
