#! /usr/bin/env python
import datetime
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from text_cnn import TextCNN

tf.disable_v2_behavior()

# Parameters
# ==================================================
FLAGS = dict(
    embedding_dim=96, filter_sizes=(3, 4, 5), num_filters=64, hidden=384, dropout_keep_prob=0.5,
    l2_reg_lambda=0.1, batch_size=32, num_epochs=3, evaluate_every=100, checkpoint_every=200,
    vocab=9000, length=40, classes=8, samples=4800,
)


def load_data(f):
    rng = np.random.RandomState(10)
    y = rng.randint(0, f["classes"], f["samples"])
    topic = rng.randint(0, f["vocab"], (f["classes"], 400))
    x = rng.randint(0, f["vocab"], (f["samples"], f["length"]))
    where = rng.rand(f["samples"], f["length"]) < 0.2
    x[where] = topic[y][np.arange(f["samples"])[:, None], rng.randint(0, 400, x.shape)][where]
    cut = int(0.9 * f["samples"])
    return x[:cut], y[:cut], x[cut:], y[cut:]


def batch_iter(x, y, batch_size, num_epochs):
    per_epoch = len(x) // batch_size
    for _ in range(num_epochs):
        order = np.random.permutation(len(x))
        for i in range(per_epoch):
            ids = order[i * batch_size:(i + 1) * batch_size]
            yield x[ids], y[ids]


def train(f):
    x_train, y_train, x_dev, y_dev = load_data(f)
    print("Train/Dev split: {:d}/{:d}".format(len(y_train), len(y_dev)))
    with tf.Graph().as_default():
        tf.set_random_seed(10)
        sess = tf.Session()
        with sess.as_default():
            cnn = TextCNN(f["length"], f["classes"], f["vocab"], f["embedding_dim"], f["filter_sizes"],
                          f["num_filters"], f["hidden"], f["l2_reg_lambda"])
            global_step = tf.Variable(0, name="global_step", trainable=False)
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            grads_and_vars = optimizer.compute_gradients(cnn.loss)
            train_op = optimizer.apply_gradients(grads_and_vars, global_step=global_step)

            # Keep track of gradient values and sparsity
            grad_summaries = []
            for g, v in grads_and_vars:
                if g is not None:
                    name = v.name.replace(":", "_")
                    grad_summaries.append(tf.summary.histogram("{}/grad/hist".format(name), g))
                    grad_summaries.append(tf.summary.scalar("{}/grad/sparsity".format(name), tf.nn.zero_fraction(g)))
                    grad_summaries.append(tf.summary.histogram("{}/value/hist".format(name), v))

            out_dir = os.path.join(tempfile.mkdtemp(), "runs")
            print("Writing to {}\n".format(out_dir))
            loss_summary = tf.summary.scalar("loss", cnn.loss)
            acc_summary = tf.summary.scalar("accuracy", cnn.accuracy)
            train_summary_op = tf.summary.merge([loss_summary, acc_summary] + grad_summaries)
            dev_summary_op = tf.summary.merge([loss_summary, acc_summary])
            train_writer = tf.summary.FileWriter(os.path.join(out_dir, "train"), sess.graph)
            dev_writer = tf.summary.FileWriter(os.path.join(out_dir, "dev"), sess.graph)
            saver = tf.train.Saver(max_to_keep=3)
            sess.run(tf.global_variables_initializer())

            def train_step(x_batch, y_batch):
                feed_dict = {cnn.input_x: x_batch, cnn.input_y: y_batch, cnn.keep_prob: f["dropout_keep_prob"]}
                _, step, summaries, loss, accuracy = sess.run(
                    [train_op, global_step, train_summary_op, cnn.loss, cnn.accuracy], feed_dict)
                train_writer.add_summary(summaries, step)
                return step, loss, accuracy

            def dev_step(x_batch, y_batch, step):
                feed_dict = {cnn.input_x: x_batch, cnn.input_y: y_batch, cnn.keep_prob: 1.0}
                summaries, loss, accuracy = sess.run([dev_summary_op, cnn.loss, cnn.accuracy], feed_dict)
                dev_writer.add_summary(summaries, step)
                print("{}: dev  step {}, loss {:g}, acc {:g}".format(
                    datetime.datetime.now().isoformat(), step, loss, accuracy))

            for x_batch, y_batch in batch_iter(x_train, y_train, f["batch_size"], f["num_epochs"]):
                step, loss, accuracy = train_step(x_batch, y_batch)
                if step % f["evaluate_every"] == 0:
                    print("train loss {:g}, acc {:g}".format(loss, accuracy))
                    dev_step(x_dev, y_dev, step)
                if step % f["checkpoint_every"] == 0:
                    saver.save(sess, os.path.join(out_dir, "model"), global_step=step)
            print("steps", step)


if __name__ == "__main__":
    train(FLAGS)
