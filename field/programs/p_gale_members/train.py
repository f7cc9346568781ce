"""Deep ensemble for gust forecasts: members are trained one after another within each round."""
from dataclasses import dataclass
from typing import List, Tuple

import numpy as np
import tensorflow as tf

from members import Member


@dataclass
class Settings:
    members: int = 6
    rounds: int = 8
    batch: int = 128
    hidden: Tuple[int, ...] = (64, 64, 64, 64)
    lr: float = 1e-3
    rows: int = 3000
    features: int = 24


def gusts(s: Settings):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(s.rows, s.features)).astype(np.float32)
    y = 2 * np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.3 * np.abs(x[:, 3:4]) * rng.normal(size=(s.rows, 1))
    cut = int(0.8 * s.rows)
    return x[:cut], y[:cut].astype(np.float32), x[cut:], y[cut:].astype(np.float32)


def train_member(member: Member, x, y, batch: int) -> float:
    step = tf.function(member.update)
    idx = member.bootstrap(len(x))
    total, count = 0.0, 0
    for lo in range(0, len(idx) - batch + 1, batch):
        rows = idx[lo:lo + batch]
        total += step(tf.constant(x[rows]), tf.constant(y[rows]))
        count += 1
    return float(total) / count


def mixture(members: List[Member], x):
    stats = [m.predict(x) for m in members]
    means = tf.stack([a for a, _ in stats])
    variances = tf.stack([b for _, b in stats])
    mean = tf.reduce_mean(means, 0)
    return mean, tf.reduce_mean(variances + tf.square(means), 0) - tf.square(mean)


def main():
    s = Settings()
    tf.random.set_seed(4)
    x, y, xt, yt = gusts(s)
    members = [Member(i, s.features, s.hidden, s.lr) for i in range(s.members)]
    for r in range(s.rounds):
        losses = [train_member(m, x, y, s.batch) for m in members]
        mean, var = mixture(members, xt)
        rmse = float(tf.sqrt(tf.reduce_mean(tf.square(mean - yt))))
        inside = float(tf.reduce_mean(tf.cast(tf.abs(yt - mean) < 1.64 * tf.sqrt(var), tf.float32)))
        print("round %d  nll %s  rmse %.3f  coverage %.3f" % (r, np.round(losses, 2), rmse, inside))


if __name__ == "__main__":
    main()
