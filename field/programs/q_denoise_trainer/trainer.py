import json
import logging
import time

import numpy as np
import tensorflow as tf

logger = logging.getLogger(__name__)


class Trainer:
    def __init__(self, net, train, holdout, cfg):
        self.net = net
        self.cfg = cfg
        self.train_noisy, self.train_clean = train
        self.hold_noisy, self.hold_clean = holdout
        self.optimizer = tf.keras.optimizers.Adam(
            tf.keras.optimizers.schedules.CosineDecay(cfg["lr"], cfg["epochs"] * cfg["steps_per_epoch"]))
        self.ckpt = tf.train.Checkpoint(net=net, optimizer=self.optimizer)
        self.manager = tf.train.CheckpointManager(self.ckpt, cfg["out"], max_to_keep=1)
        self.best = float("inf")
        self.history = []

    def dataset(self):
        n = len(self.train_noisy)
        ds = tf.data.Dataset.from_tensor_slices((self.train_noisy, self.train_clean))
        return ds.shuffle(n, seed=0).repeat().batch(self.cfg["batch"]).prefetch(2)

    @tf.function
    def train_step(self, noisy, clean):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self.net(noisy, training=True) - clean))
        g = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(g, self.net.trainable_variables))
        return loss

    @tf.function
    def psnr(self, noisy, clean):
        restored = tf.clip_by_value(self.net(noisy, training=False), 0.0, 1.0)
        return tf.image.psnr(restored, clean, max_val=1.0)

    def validate(self):
        scores = self.psnr(self.hold_noisy, self.hold_clean)
        return float(tf.reduce_mean(scores))

    def fit(self):
        it = iter(self.dataset())
        step = 0
        for epoch in range(self.cfg["epochs"]):
            t, losses = time.time(), []
            for _ in range(self.cfg["steps_per_epoch"]):
                losses.append(self.train_step(*next(it)))
                step += 1
            score = self.validate()
            mean = float(np.mean([l.numpy() for l in losses]))
            logger.info("epoch %d step %d mae %.4f psnr %.2f dB (%.1fs)", epoch, step, mean, score, time.time() - t)
            self.history.append({"epoch": epoch, "mae": mean, "psnr": score})
            if -score < self.best:
                self.best = -score
                self.manager.save()
        with open("history.json", "w") as f:
            json.dump(self.history, f)
        return step
