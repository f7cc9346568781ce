"""Training of the character CNN.  Usage: python training.py --iterations 150"""
import time

import numpy as np
import tensorflow.compat.v1 as tf

from config import get_config
from model import CharCNN
from schedule import WarmRestarts

tf.disable_v2_behavior()


def make_corpus(cfg, n):
    # every class prefers its own bigrams
    rng = np.random.RandomState(cfg.seed)
    y = rng.randint(cfg.num_classes, size=n)
    x = rng.randint(cfg.alphabet_size, size=(n, cfg.length))
    for i in range(n):
        for pos in rng.randint(0, cfg.length - 1, size=6):
            x[i, pos] = 2 * y[i]
            x[i, pos + 1] = 2 * y[i] + 1
    return x.astype(np.int32), y.astype(np.int32)


def batches(x, y, size, rng):
    while True:
        order = rng.permutation(len(x))
        for s in range(0, len(x) - size + 1, size):
            idx = order[s:s + size]
            yield x[idx], y[idx]


def main():
    cfg = get_config()
    np.random.seed(cfg.seed)
    tf.set_random_seed(cfg.seed)
    x, y = make_corpus(cfg, 4000)
    x_dev, y_dev = x[3500:], y[3500:]
    feed = batches(x[:3500], y[:3500], cfg.batch_size, np.random.RandomState(1))

    net = CharCNN(cfg)
    schedule = WarmRestarts(cfg)
    saver = tf.train.Saver(max_to_keep=1)

    conf = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
    with tf.Session(config=conf) as sess:
        sess.run(tf.global_variables_initializer())
        t0 = time.time()
        for it in range(cfg.iterations):
            bx, by = next(feed)
            lr = schedule.get(sess, it)
            _, step, loss, acc = sess.run(
                [net.train_op, net.global_step, net.loss, net.accuracy],
                feed_dict={net.input_x: bx, net.input_y: by, net.learning_rate: lr})
            if step % cfg.display_every == 0:
                dev_loss, dev_acc = sess.run([net.loss, net.accuracy],
                                             {net.input_x: x_dev, net.input_y: y_dev})
                print("step %d lr %.5f loss %.4f acc %.3f | dev %.4f %.3f | %.1f s" % (
                    step, lr, loss, acc, dev_loss, dev_acc, time.time() - t0))
        saver.save(sess, "./charcnn.ckpt")
        print("finished after %d steps" % sess.run(net.global_step))


if __name__ == "__main__":
    main()
