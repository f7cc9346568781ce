# crack / no crack / blast hole patches from the quarry wall, classic graph + session
import os
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'
import glob
import shutil
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

flags = dict(batch=48, steps=300, side=32, lr=1e-3, log_every=20, save_every=60, n=1600, n_valid=400)
rng = np.random.RandomState(1)


def patches(n):
    x = rng.normal(0, .3, (n, flags['side'], flags['side'], 1)).astype(np.float32)
    y = rng.randint(0, 3, n)
    g = np.arange(flags['side'])
    for i in range(n):
        if y[i] == 1:
            a, b = rng.uniform(-1, 1), rng.uniform(8, 24)
            rows = np.clip(a * (g - 16) + b, 0, flags['side'] - 1).astype(int)
            x[i, rows, g] -= 1.2
        elif y[i] == 2:
            cy, cx, r = rng.uniform(8, 24), rng.uniform(8, 24), rng.uniform(3, 6)
            x[i, (g[:, None] - cy) ** 2 + (g[None] - cx) ** 2 < r * r] -= 1.
    return x, y.astype(np.int32)


def weight(name, shape):
    return tf.get_variable(name, shape, initializer=tf.variance_scaling_initializer(2.0))


def conv(x, name, cin, cout):
    with tf.variable_scope(name):
        h = tf.nn.conv2d(x, weight('w', [3, 3, cin, cout]), [1, 1, 1, 1], 'SAME')
        return tf.nn.relu(h + tf.get_variable('b', [cout], initializer=tf.zeros_initializer()))


def pool(x):
    return tf.nn.max_pool2d(x, 2, 2, 'SAME')


tf.set_random_seed(7)
X = tf.placeholder(tf.float32, [None, flags['side'], flags['side'], 1], 'x')
Y = tf.placeholder(tf.int32, [None], 'y')
h = conv(X, 'c1', 1, 32)
h = pool(conv(h, 'c2', 32, 48))
h = pool(conv(h, 'c3', 48, 64))
h = pool(conv(h, 'c4', 64, 96))
h = tf.reshape(h, [-1, 4 * 4 * 96])
logits = tf.matmul(h, weight('fc', [4 * 4 * 96, 3]))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=Y, logits=logits))
acc = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), Y), tf.float32))
step = tf.train.get_or_create_global_step()
train_op = tf.train.AdamOptimizer(flags['lr']).minimize(loss, global_step=step)
tf.summary.scalar('loss', loss)
tf.summary.scalar('accuracy', acc)
tf.summary.histogram('logits', logits)
merged = tf.summary.merge_all()
saver = tf.train.Saver(max_to_keep=3)

xs, ys = patches(flags['n'])
xv, yv = patches(flags['n_valid'])
out = tempfile.mkdtemp(prefix='quarry_')

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(os.path.join(out, 'log'), sess.graph)
    losses = []
    perm = rng.permutation(len(xs))
    at = 0
    for i in range(1, flags['steps'] + 1):
        if at + flags['batch'] > len(xs):
            perm, at = rng.permutation(len(xs)), 0
        idx = perm[at:at + flags['batch']]
        at += flags['batch']
        _, l = sess.run([train_op, loss], feed_dict={X: xs[idx], Y: ys[idx]})
        losses.append(l)
        if i % flags['log_every'] == 0:
            writer.add_summary(sess.run(merged, feed_dict={X: xs[idx], Y: ys[idx]}), i)
            print('step %4d  loss %.4f' % (i, np.mean(losses[-flags['log_every']:])))
        if i % flags['save_every'] == 0:
            a = [sess.run(acc, feed_dict={X: xv[k:k + 100], Y: yv[k:k + 100]}) for k in range(0, len(xv), 100)]
            saver.save(sess, os.path.join(out, 'model'), global_step=step)
            print('step %4d  valid accuracy %.3f' % (i, np.mean(a)))
    writer.close()
    print('kept:', sorted(os.path.basename(p) for p in glob.glob(os.path.join(out, 'model-*.index'))))
shutil.rmtree(out)
