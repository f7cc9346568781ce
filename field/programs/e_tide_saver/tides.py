from __future__ import print_function

import os
import shutil
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

flags = {'batch': 512, 'units': 768, 'steps': 200, 'save_every': 50, 'summary_every': 20, 'lr': 0.05}


def tide_table(n, lags):
    r = np.random.RandomState(31)
    t = np.arange(n + lags + 1)
    level = np.sin(t / 6.2) + 0.4 * np.sin(t / 5.9 + 1) + 0.2 * np.sin(t / 70.) + 0.05 * r.randn(len(t))
    x = np.lib.stride_tricks.sliding_window_view(level[:-1], lags)[:n]
    return x.astype(np.float32), level[lags:lags + n].astype(np.float32)


x, y = tide_table(30000, 192)
xv, yv = x[-2000:], y[-2000:]
x, y = x[:-2000], y[:-2000]

px = tf.placeholder(tf.float32, [None, 192])
py = tf.placeholder(tf.float32, [None])
plr = tf.placeholder(tf.float32, [])
keep = tf.placeholder_with_default(1.0, [])

h = px
for i in range(3):
    h = tf.nn.relu(tf.matmul(h, tf.get_variable('w%d' % i, [int(h.shape[1]), flags['units']])))
    h = tf.nn.dropout(h, rate=1 - keep)
out = tf.squeeze(tf.matmul(h, tf.get_variable('w_out', [flags['units'], 1])), 1)
loss = tf.reduce_mean(tf.square(out - py))
step = tf.train.create_global_step()
train = tf.train.MomentumOptimizer(plr, 0.9).minimize(loss, global_step=step)
tf.summary.scalar('loss', loss)
merged = tf.summary.merge_all()
saver = tf.train.Saver(max_to_keep=2)

folder = tempfile.mkdtemp()
with tf.Session() as sess:
    tf.set_random_seed(31)
    sess.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(folder, sess.graph)
    r = np.random.RandomState(7)
    lr, best = flags['lr'], np.inf
    for k in range(1, flags['steps'] + 1):
        rows = r.randint(0, len(x), flags['batch'])
        feed = {px: x[rows], py: y[rows], plr: lr, keep: 0.9}
        if k % flags['summary_every'] == 0:
            _, value, line = sess.run([train, loss, merged], feed)
            writer.add_summary(line, k)
        else:
            _, value = sess.run([train, loss], feed)
        if k % flags['save_every'] == 0:
            dev = sess.run(loss, {px: xv, py: yv})
            if dev > best:
                lr *= 0.5
            best = min(best, dev)
            saver.save(sess, os.path.join(folder, 'tides'), global_step=k)
            print('step %d train %.4f dev %.4f lr %.4f' % (k, value, dev, lr))
    writer.close()
shutil.rmtree(folder)
