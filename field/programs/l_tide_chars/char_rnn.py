# char-rnn on tide tables, TF1 style
import time
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
np.random.seed(1)

HID = 320
BATCH = 64
UNROLL = 16
STEPS = 320
LR = 2e-3


def make_text(n_days):
    out = []
    for d in range(n_days):
        for k in range(4):
            h = (6.2 * k + 0.84 * d) % 24
            lvl = 2.5 + (1.7 if k % 2 else -1.7) + 0.4 * np.sin(d / 4.7)
            out.append('%s %02d:%02d %.1fm; ' % ('HW' if k % 2 else 'LW', int(h), int(h % 1 * 60), lvl))
        out.append('\n')
    return ''.join(out)


text = make_text(4000)
chars = sorted(set(text))
V = len(chars)
lut = {c: i for i, c in enumerate(chars)}
codes = np.array([lut[c] for c in text], np.int32)
cut = int(0.95 * len(codes))
train, valid = codes[:cut], codes[cut:]
print('chars', len(codes), 'vocab', V)

# ---- graph
x_in = tf.placeholder(tf.int32, [None, UNROLL])
y_in = tf.placeholder(tf.int32, [None, UNROLL])
c_in = tf.placeholder(tf.float32, [None, HID])
h_in = tf.placeholder(tf.float32, [None, HID])
emb = tf.get_variable('emb', [V, 64])
W = tf.get_variable('W', [64 + HID, 4 * HID])
b = tf.get_variable('b', [4 * HID], initializer=tf.zeros_initializer())
Wo = tf.get_variable('Wo', [HID, V])
bo = tf.get_variable('bo', [V], initializer=tf.zeros_initializer())

c, h = c_in, h_in
hs = []
for step_x in tf.unstack(tf.nn.embedding_lookup(emb, x_in), axis=1):
    i, j, f, o = tf.split(tf.matmul(tf.concat([step_x, h], 1), W) + b, 4, axis=1)
    c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    h = tf.tanh(c) * tf.sigmoid(o)
    hs.append(h)
logits = tf.reshape(tf.matmul(tf.reshape(tf.stack(hs, 1), [-1, HID]), Wo) + bo, [-1, UNROLL, V])
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y_in, logits=logits))
opt = tf.train.AdamOptimizer(LR)
grads, tvars = zip(*opt.compute_gradients(loss))
grads, gnorm = tf.clip_by_global_norm(grads, 5.0)
train_op = opt.apply_gradients(zip(grads, tvars))


def batches(data):
    n = len(data) // BATCH
    m = data[:n * BATCH].reshape(BATCH, n)
    for p in range(0, n - UNROLL - 1, UNROLL):
        yield m[:, p:p + UNROLL], m[:, p + 1:p + UNROLL + 1]


def evaluate(sess):
    cv = hv = np.zeros((BATCH, HID), np.float32)
    tot = []
    for xb, yb in batches(valid):
        l, cv, hv = sess.run([loss, c, h], {x_in: xb, y_in: yb, c_in: cv, h_in: hv})
        tot.append(l)
        if len(tot) == 10:
            break
    return np.mean(tot)


losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    cv = hv = np.zeros((BATCH, HID), np.float32)
    feed_src = batches(train)
    t0 = time.time()
    for it in range(1, STEPS + 1):
        try:
            xb, yb = next(feed_src)
        except StopIteration:
            feed_src = batches(train)
            xb, yb = next(feed_src)
            cv = hv = np.zeros((BATCH, HID), np.float32)
        l, gn, cv, hv, _ = sess.run([loss, gnorm, c, h, train_op], feed_dict={x_in: xb, y_in: yb, c_in: cv, h_in: hv})
        losses.append(l)
        if it % 80 == 0:
            print('step %4d  loss %.4f  |g| %.2f  valid %.4f  %.1fs' % (it, np.mean(losses[-50:]), gn, evaluate(sess), time.time() - t0))
