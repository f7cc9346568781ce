import tensorflow as tf

from . import hooks, parts  # noqa: F401
from .registry import DATASETS, HOOKS, MODELS


class AccumulatingTrainer:
    def __init__(self, config, workdir):
        self.workdir = workdir
        self.accumulate = config["accumulate"]
        self.target = config["updates"]
        self.model = MODELS.build(config["model"])
        self.data = DATASETS.build(config["data"])
        self.hooks = [HOOKS.build(h) for h in config["hooks"]]
        self.optimizer = tf.keras.optimizers.AdamW(config["lr"])
        self.optimizer.build(self.model.trainable_variables)
        self.sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in self.model.trainable_variables]
        self.loss = tf.keras.metrics.Mean()
        self.updates = 0

    @tf.function
    def micro(self, x, y):
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        for total, g in zip(self.sums, tape.gradient(loss, self.model.trainable_variables)):
            total.assign_add(tf.convert_to_tensor(g) / self.accumulate)
        self.loss.update_state(loss)

    @tf.function
    def apply(self):
        self.optimizer.apply_gradients(zip(self.sums, self.model.trainable_variables))

    @tf.function
    def clear(self):
        for total in self.sums:
            total.assign(tf.zeros_like(total))

    def call(self, event):
        for hook in self.hooks:
            getattr(hook, event)(self)

    def run(self):
        self.call("before_run")
        for i, (x, y) in enumerate(self.data, 1):
            self.micro(x, y)
            if i % self.accumulate == 0:
                self.apply()
                self.updates += 1
                self.call("after_update")
                self.clear()
            if self.updates == self.target:
                break
        self.call("after_run")
