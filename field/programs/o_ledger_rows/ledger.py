# -*- coding: utf-8 -*-
"""GRU autoencoder over the account ledgers, reconstruction error = anomaly score."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.disable_resource_variables()

CONFIG = {
    "model": {"hidden": 96, "embed": 48, "n_codes": 400, "keep_prob": 0.9},
    "data": {"n_accounts": 5000, "length": 14, "seed": 5},
    "train": {"epochs": 2, "batch_size": 32, "lr": 2e-3, "clip": 5.0},
    "log": {"save_steps": 1, "print_steps": 100, "keep": 5},
}


def make_ledgers(n_accounts, length, seed, n_codes):
    rng = np.random.RandomState(seed)
    base = rng.randint(0, n_codes // 2, size=(n_accounts, 1))
    walk = np.cumsum(rng.randint(-3, 4, size=(n_accounts, length)), axis=1)
    codes = (base + walk + 20 * (np.arange(length) % 7 == 0)) % n_codes
    amounts = np.exp(rng.randn(n_accounts, length) * 0.4).astype(np.float32)
    return codes.astype(np.int32), amounts


class LedgerModel(object):
    def __init__(self, cfg, length):
        m, t = cfg["model"], cfg["train"]
        self.codes = tf.placeholder(tf.int32, [None, length], name="codes")
        self.amounts = tf.placeholder(tf.float32, [None, length], name="amounts")
        self.keep = tf.placeholder_with_default(1.0, [], name="keep")
        table = tf.get_variable("table", [m["n_codes"], m["embed"]])
        x = tf.nn.embedding_lookup(table, self.codes)
        x = tf.concat([x, self.amounts[..., None]], -1)
        x = tf.nn.dropout(x, rate=1.0 - self.keep)
        with tf.variable_scope("enc"):
            state = self._gru(tf.unstack(x, axis=1), m["hidden"])[-1]
        with tf.variable_scope("dec"):
            outs = self._gru([state] * length, m["hidden"])
        h = tf.stack(outs, axis=1)
        w = tf.get_variable("w_out", [m["hidden"], m["n_codes"]])
        logits = tf.tensordot(h, w, 1) + tf.get_variable("b_out", [m["n_codes"]])
        w_a = tf.get_variable("w_amount", [m["hidden"], 1])
        amount = tf.squeeze(tf.tensordot(h, w_a, 1), -1)
        xent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.codes, logits=logits)
        self.score = tf.reduce_mean(xent, 1) + 0.1 * tf.reduce_mean(tf.square(amount - self.amounts), 1)
        self.cost = tf.reduce_mean(self.score)
        hit = tf.equal(tf.argmax(logits, -1, output_type=tf.int32), self.codes)
        self.accuracy = tf.reduce_mean(tf.cast(hit, tf.float32))
        opt = tf.train.AdamOptimizer(t["lr"])
        grads, tvars = zip(*opt.compute_gradients(self.cost))
        grads, self.grad_norm = tf.clip_by_global_norm(grads, t["clip"])
        self.train_op = opt.apply_gradients(zip(grads, tvars))

    @staticmethod
    def _gru(inputs, hidden):
        n_in = int(inputs[0].shape[-1])
        wg = tf.get_variable("wg", [n_in + hidden, 2 * hidden])
        bg = tf.get_variable("bg", [2 * hidden], initializer=tf.ones_initializer())
        wc = tf.get_variable("wc", [n_in + hidden, hidden])
        h = tf.zeros([tf.shape(inputs[0])[0], hidden])
        outs = []
        for x in inputs:
            r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), wg) + bg), 2, axis=1)
            c = tf.tanh(tf.matmul(tf.concat([x, r * h], 1), wc))
            h = u * h + (1 - u) * c
            outs.append(h)
        return outs


def score_all(sess, model, codes, amounts, size=256):
    out = []
    for i in range(0, len(codes), size):
        out.append(sess.run(model.score, {model.codes: codes[i:i + size], model.amounts: amounts[i:i + size]}))
    return np.concatenate(out)


def main(cfg, workdir):
    tf.set_random_seed(cfg["data"]["seed"])
    codes, amounts = make_ledgers(n_codes=cfg["model"]["n_codes"], **cfg["data"])
    n_test = 1000
    model = LedgerModel(cfg, cfg["data"]["length"])
    saver = tf.train.Saver(max_to_keep=cfg["log"]["keep"])
    rng = np.random.RandomState(0)
    size = cfg["train"]["batch_size"]
    step = 0
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(cfg["train"]["epochs"]):
            order = n_test + rng.permutation(len(codes) - n_test)
            costs, accs, norms = [], [], []
            for i in range(0, len(order) - size + 1, size):
                pick = order[i:i + size]
                feed = {model.codes: codes[pick], model.amounts: amounts[pick],
                        model.keep: cfg["model"]["keep_prob"]}
                sess.run(model.train_op, feed_dict=feed)
                cost = sess.run(model.cost, feed_dict=feed)
                acc = sess.run(model.accuracy, feed_dict=feed)
                norms.append(sess.run(model.grad_norm, feed_dict=feed))
                costs.append(cost)
                accs.append(acc)
                step += 1
                if step % cfg["log"]["save_steps"] == 0:
                    saver.save(sess, os.path.join(workdir, "ledger.ckpt"), global_step=step)
                if step % cfg["log"]["print_steps"] == 0:
                    print("step %5d  cost %.4f  acc %.3f  |g| %.3f" % (
                        step, np.mean(costs[-50:]), np.mean(accs[-50:]), np.mean(norms[-50:])))
            test = score_all(sess, model, codes[:n_test], amounts[:n_test])
            print("epoch %d  test score %.4f  p99 %.4f" % (epoch, test.mean(), np.percentile(test, 99)))
        saver.save(sess, os.path.join(workdir, "ledger.ckpt"), global_step=step)
    print("done after %d steps" % step)


if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="ledger_")
    try:
        main(CONFIG, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
