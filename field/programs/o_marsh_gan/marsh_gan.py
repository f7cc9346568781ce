import os
import sys
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from ops import conv, deconv, fc

tf.disable_v2_behavior()

SIZE, Z, BATCH, EPOCHS = 32, 64, 48, 4
N_TILES = 3360
K_DISC = 1


def tiles(n, rng):
    """Vegetation patterns: thresholded smooth noise with a channel through it."""
    freq = np.fft.fftfreq(SIZE)
    k = np.sqrt(freq[:, None] ** 2 + freq[None] ** 2)
    k[0, 0] = 1
    out = np.zeros((n, SIZE, SIZE, 1), np.float32)
    for i in range(n):
        f = np.fft.fft2(rng.randn(SIZE, SIZE)) * k ** -rng.uniform(1.2, 2.0)
        img = np.real(np.fft.ifft2(f))
        img = np.tanh(1.5 * (img - img.mean()) / img.std())
        c = int(SIZE / 2 + 6 * np.sin(rng.rand() * 6))
        img[:, c:c + 3] = -1
        out[i, ..., 0] = img
    return out


def generator(z):
    with tf.variable_scope("gen", reuse=tf.AUTO_REUSE):
        h = tf.nn.relu(tf.reshape(fc(z, 4 * 4 * 128, "fc"), [-1, 4, 4, 128]))
        h = tf.nn.relu(deconv(h, 64, "d1", BATCH))
        h = tf.nn.relu(deconv(h, 32, "d2", BATCH))
        return tf.tanh(deconv(h, 1, "d3", BATCH))


def discriminator(x):
    with tf.variable_scope("disc", reuse=tf.AUTO_REUSE):
        h = tf.nn.leaky_relu(conv(x, 32, "c1"))
        h = tf.nn.leaky_relu(conv(h, 64, "c2"))
        h = tf.nn.leaky_relu(conv(h, 128, "c3"))
        return fc(tf.reshape(h, [-1, 4 * 4 * 128]), 1, "out")


def xent(logits, value):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
        logits=logits, labels=value * tf.ones_like(logits)))


def main(out_dir):
    rng = np.random.RandomState(3)
    tf.set_random_seed(3)
    data = tiles(N_TILES, rng)

    real = tf.placeholder(tf.float32, [BATCH, SIZE, SIZE, 1], "real")
    z = tf.placeholder(tf.float32, [BATCH, Z], "z")
    fake = generator(z)
    d_real, d_fake = discriminator(real), discriminator(fake)
    d_loss = xent(d_real, 0.9) + xent(d_fake, 0.0)
    g_loss = xent(d_fake, 1.0)
    d_vars = tf.trainable_variables("disc")
    g_vars = tf.trainable_variables("gen")
    d_op = tf.train.AdamOptimizer(2e-4, 0.5).minimize(d_loss, var_list=d_vars)
    g_op = tf.train.AdamOptimizer(2e-4, 0.5).minimize(g_loss, var_list=g_vars)
    saver = tf.train.Saver(max_to_keep=2)
    fixed = rng.randn(BATCH, Z)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        counter = 0
        for epoch in range(EPOCHS):
            rng.shuffle(data)
            d_hist, g_hist = [], []
            for idx in range(len(data) // BATCH):
                batch = data[idx * BATCH:(idx + 1) * BATCH]
                for _ in range(K_DISC):
                    _, dl = sess.run([d_op, d_loss], feed_dict={real: batch, z: rng.randn(BATCH, Z)})
                _, gl = sess.run([g_op, g_loss], feed_dict={z: rng.randn(BATCH, Z)})
                d_hist.append(dl)
                g_hist.append(gl)
                counter += 1
                if counter % 10 == 0:
                    print("[%2d] [%3d] d_loss: %.4f  g_loss: %.4f" % (epoch, idx, dl, gl))
            sample = sess.run(fake, feed_dict={z: fixed})
            np.save(os.path.join(out_dir, "sample_%02d.npy" % epoch), sample)
            saver.save(sess, os.path.join(out_dir, "marsh"), global_step=counter)
            print("epoch %d  d %.3f  g %.3f  spread %.3f" % (
                epoch, np.mean(d_hist), np.mean(g_hist), sample.std(0).mean()))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="marsh_"))
