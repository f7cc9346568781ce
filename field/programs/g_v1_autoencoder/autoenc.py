import os
import shutil
import tempfile
import time

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
tf1.disable_eager_execution()

batch_size = 512
n_steps = 500
n_in, n_h1, n_h2, n_code = 256, 768, 384, 24


def spectra(n):
    r = np.random.RandomState(12)
    grid = np.linspace(0, 1, n_in)[None]
    out = np.zeros((n, n_in), np.float32)
    for _ in range(4):
        centre, width, height = r.rand(n, 1), 0.02 + 0.08 * r.rand(n, 1), r.rand(n, 1)
        out += (height * np.exp(-((grid - centre) / width) ** 2)).astype(np.float32)
    return out


def layer(x, n_out, name, act=tf.nn.relu):
    n = int(x.shape[1])
    w = tf1.get_variable(name + "_w", [n, n_out], initializer=tf1.glorot_normal_initializer(seed=n_out))
    b = tf1.get_variable(name + "_b", [n_out], initializer=tf1.zeros_initializer())
    y = tf.matmul(x, w) + b
    return y if act is None else act(y)


data = spectra(12000)
x_ph = tf1.placeholder(tf.float32, [None, n_in], name="x")
noise_ph = tf1.placeholder_with_default(0.0, [], name="noise")
h = layer(x_ph + noise_ph * tf1.random_normal(tf.shape(x_ph), seed=2), n_h1, "enc1")
h = layer(h, n_h2, "enc2")
code = layer(h, n_code, "code", None)
h = layer(code, n_h2, "dec1")
h = layer(h, n_h1, "dec2")
x_hat = layer(h, n_in, "out", None)
loss = tf.reduce_mean(tf.reduce_sum(tf.square(x_hat - x_ph), 1))
global_step = tf1.train.get_or_create_global_step()
lr = tf1.train.exponential_decay(1e-3, global_step, 100, 0.9)
train_op = tf1.train.AdamOptimizer(lr).minimize(loss, global_step=global_step)
tf1.summary.scalar("loss", loss)
tf1.summary.scalar("lr", lr)
merged = tf1.summary.merge_all()
saver = tf1.train.Saver(max_to_keep=1)
init = tf1.global_variables_initializer()

workdir = tempfile.mkdtemp(prefix="autoenc_")
rs = np.random.RandomState(0)
with tf1.Session() as sess:
    writer = tf1.summary.FileWriter(os.path.join(workdir, "logs"), sess.graph)
    sess.run(init)
    sess.graph.finalize()
    t_last, losses = time.time(), []
    for i in range(n_steps):
        idx = rs.randint(0, len(data), batch_size)
        feed = {x_ph: data[idx], noise_ph: 0.05}
        _, l = sess.run([train_op, loss], feed_dict=feed)
        losses.append(l)
        if (i + 1) % 50 == 0:
            s, test = sess.run([merged, loss], feed_dict={x_ph: data[:1000]})
            writer.add_summary(s, i)
            print("step %4d  train %.3f  clean %.3f  %.1f ms/step" % (i + 1, np.mean(losses[-50:]), test, 20 * (time.time() - t_last)))
            t_last = time.time()
        if (i + 1) % 250 == 0:
            saver.save(sess, os.path.join(workdir, "model"), global_step=i + 1)
    writer.close()
shutil.rmtree(workdir)
