import logging

import tensorflow as tf

from .schedule import KLSchedule

log = logging.getLogger("annealvae")


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.kl_weight = KLSchedule(cfg.anneal)
        self.optimizer = tf.keras.optimizers.Adam(cfg.learning_rate, global_clipnorm=5.0)
        self.meters = {k: tf.keras.metrics.Mean(k) for k in ("elbo", "rec", "kl")}

    @tf.function
    def train_step(self, x, beta):
        with tf.GradientTape() as tape:
            rec, kl = self.model.elbo_terms(x, self.cfg.anneal.free_bits)
            loss = rec + beta * kl
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        for name, value in (("elbo", -loss), ("rec", rec), ("kl", kl)):
            self.meters[name].update_state(value)

    def run(self, dataset):
        batches = iter(dataset)
        for epoch in range(self.cfg.epochs):
            beta = self.kl_weight(epoch)
            for _ in range(self.cfg.steps_per_epoch):
                self.train_step(next(batches), beta)
            log.info("epoch %d beta %.3f %s", epoch + 1, beta, " ".join(
                "%s=%.2f" % (k, m.result()) for k, m in self.meters.items()))
            for m in self.meters.values():
                m.reset_state()
