"""Two-layer perceptron on flattened digits, TF1 session."""
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
flags = tf.app.flags
flags.DEFINE_integer("epochs", 3, "passes over the data")
flags.DEFINE_integer("batch_size", 512, "rows per step")
flags.DEFINE_integer("hidden", 1024, "units per hidden layer")
flags.DEFINE_string("train_dir", "", "where to write; default: a temp folder")
FLAGS = flags.FLAGS


def data(n, seed=0):
    rng = np.random.RandomState(seed)
    proto = rng.rand(10, 784).astype(np.float32)
    y = rng.randint(0, 10, n)
    return proto[y] + 0.4 * rng.randn(n, 784).astype(np.float32), y.astype(np.int64)


def inference(images, hidden):
    h = images
    for k in range(2):
        with tf.variable_scope("hidden%d" % k):
            w = tf.get_variable("w", [int(h.shape[1]), hidden])
            b = tf.get_variable("b", [hidden], initializer=tf.zeros_initializer())
            h = tf.nn.relu(tf.matmul(h, w) + b)
    with tf.variable_scope("softmax"):
        w = tf.get_variable("w", [hidden, 10])
        b = tf.get_variable("b", [10], initializer=tf.zeros_initializer())
        return tf.matmul(h, w) + b


def main(_):
    x, y = data(16384)
    images = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.int64, [None])
    lr = tf.placeholder(tf.float32, [])
    logits = inference(images, FLAGS.hidden)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train_op = tf.train.MomentumOptimizer(lr, 0.9).minimize(loss)
    correct = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
    tf.summary.scalar("loss", loss)
    summary_op = tf.summary.merge_all()
    saver = tf.train.Saver(max_to_keep=1)
    folder = FLAGS.train_dir or tempfile.mkdtemp()

    with tf.Session() as sess:
        writer = tf.summary.FileWriter(folder, sess.graph)
        sess.run(tf.global_variables_initializer())
        step = 0
        for epoch in range(FLAGS.epochs):
            perm = np.random.permutation(len(x))
            for s in range(0, len(x), FLAGS.batch_size):
                idx = perm[s:s + FLAGS.batch_size]
                feed = {images: x[idx], labels: y[idx], lr: 0.05 * 0.5 ** epoch}
                _, value, acc = sess.run([train_op, loss, correct], feed_dict=feed)
                if step % 20 == 0:
                    print("step %d: loss = %.3f accuracy = %.3f" % (step, value, acc))
                    writer.add_summary(sess.run(summary_op, feed_dict=feed), step)
                step += 1
            saver.save(sess, os.path.join(folder, "model"), global_step=step)
        writer.close()


if __name__ == "__main__":
    tf.app.run(main)
