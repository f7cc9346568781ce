import tensorflow as tf

from . import losses


class MultiTask(tf.keras.Model):
    def __init__(self, trunk):
        super().__init__()
        self.trunk = tf.keras.Sequential([tf.keras.layers.Dense(n, activation="relu") for n in trunk])
        self.heads = {name: tf.keras.layers.Dense(1, name=name) for name in ("fraud", "amount", "rank")}

    def call(self, x):
        h = self.trunk(x)
        return {name: tf.squeeze(head(h), -1) for name, head in self.heads.items()}


class Learner:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(lr)

    @tf.function
    def update(self, x, y, options):
        with tf.GradientTape() as tape:
            out = self.model(x)
            parts = {
                "fraud": losses.fraud_loss(out["fraud"], y["fraud"], options.label_smoothing),
                "amount": losses.amount_loss(out["amount"], y["amount"]),
                "rank": losses.rank_loss(out["rank"], y["rank"], options.margin),
            }
            total = tf.add_n([options.weights[k] * v for k, v in parts.items()])
        grads = tape.gradient(total, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return total, parts
