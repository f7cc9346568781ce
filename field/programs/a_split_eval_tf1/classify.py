"""TF1 training with one reinitialisable iterator for the training and validation split."""
import argparse

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def split(n, dim, seed):
    rng = np.random.RandomState(seed)
    x = rng.randn(n, dim).astype(np.float32)
    y = (np.abs(x[:, :6]).sum(1) > 4.8).astype(np.int64)
    return x, y


def run_epoch(sess, init, fetches, feed=None):
    sess.run(init)
    out = []
    while True:
        try:
            out.append(sess.run(fetches, feed_dict=feed)[-2:])
        except tf.errors.OutOfRangeError:
            break
    return np.mean(out, axis=0)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch", type=int, default=400)
    args = ap.parse_args()

    tr, va = split(6000, 300, 0), split(12000, 300, 1)
    train_ds = tf.data.Dataset.from_tensor_slices(tr).shuffle(2000).batch(args.batch)
    valid_ds = tf.data.Dataset.from_tensor_slices(va).batch(args.batch)
    it = tf.data.Iterator.from_structure(tf.data.get_output_types(train_ds), tf.data.get_output_shapes(train_ds))
    init_train, init_valid = it.make_initializer(train_ds), it.make_initializer(valid_ds)

    x, y = it.get_next()
    keep = tf.placeholder_with_default(1.0, [])
    h = x
    for k in range(3):
        with tf.variable_scope("layer%d" % k):
            w = tf.get_variable("w", [int(h.shape[-1]), 1000])
            b = tf.get_variable("b", [1000], initializer=tf.zeros_initializer())
            h = tf.nn.dropout(tf.nn.relu(tf.matmul(h, w) + b), rate=1.0 - keep)
    logits = tf.matmul(h, tf.get_variable("out", [1000, 2]))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    acc = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(args.epochs):
            t = run_epoch(sess, init_train, [step, loss, acc], {keep: 0.9})
            v = run_epoch(sess, init_valid, [loss, acc])
            print("epoch %d  train loss %.4f acc %.3f  |  valid loss %.4f acc %.3f" % (epoch, t[0], t[1], v[0], v[1]))


if __name__ == "__main__":
    main()
