import sys

import numpy as np
import tensorflow as tf

from multitask import config
from multitask.model import Learner, MultiTask


def make_data(cfg):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(cfg["rows"], cfg["features"])).astype("float32")
    score = x[:, :4].sum(1)
    y = {
        "fraud": (score + rng.normal(size=len(x)) > 2).astype("float32"),
        "amount": np.abs(score).astype("float32"),
        "rank": np.digitize(score, [-2, -1, 0, 1, 2]).astype("float32"),
    }
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2048).repeat().batch(cfg["batch"])


def main(path="config.json"):
    cfg = config.load(path)
    tf.random.set_seed(9)
    learner = Learner(MultiTask(cfg["trunk"]), cfg["lr"])
    for step, (x, y) in enumerate(make_data(cfg).take(cfg["steps"])):
        if step % cfg["refresh"] == 0:
            options = config.options_for(cfg, step)
        total, parts = learner.update(x, y, options)
        if step % 10 == 0:
            print(step, "total %.4f" % float(total), {k: round(float(v), 4) for k, v in parts.items()})
    print("done, last total %.4f" % float(total))


if __name__ == "__main__":
    main(*sys.argv[1:])
