import time

import numpy as np
import tensorflow as tf

from proto.episodes import RuneSet, stream
from proto.net import ProtoNet

OPTIONS = dict(size=28, episodes=260, ways=(5, 8), shot=5, query=8, eval_every=65, eval_episodes=8)


def validate(net, data, n):
    return np.mean([[float(v) for v in net.judge(s, q)] for s, q in data.take(n)], axis=0)


def main(o):
    tf.keras.utils.set_random_seed(0)
    rng = np.random.default_rng(17)
    train = RuneSet(40, 20, o["size"], rng)
    test = RuneSet(16, 20, o["size"], rng)
    net = ProtoNet(o["size"])
    losses, accs = [], []
    valid = stream(test, (5,), o["shot"], o["query"], 99)
    t0 = time.time()
    for i, (support, query) in enumerate(stream(train, o["ways"], o["shot"], o["query"], 1).take(o["episodes"]), 1):
        loss, acc = net.learn(support, query)
        losses.append(float(loss))
        accs.append(float(acc))
        if i % o["eval_every"] == 0:
            vl, va = validate(net, valid, o["eval_episodes"])
            print(f"[{i:4d}] loss {np.mean(losses[-20:]):.3f} acc {np.mean(accs[-20:]):.3f} | new runes "
                  f"loss {vl:.3f} acc {va:.3f} | {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main(OPTIONS)
