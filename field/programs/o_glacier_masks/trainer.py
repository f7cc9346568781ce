import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def unet(size, bands, filters):
    inp = layers.Input((size, size, bands))
    x, skips = inp, []
    for f in filters:
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(filters[-1] * 2, 3, padding="same", activation="relu")(x)
    for f, s in zip(reversed(filters), reversed(skips)):
        x = layers.UpSampling2D()(x)
        x = layers.Concatenate()([x, s])
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
    return keras.Model(inp, layers.Conv2D(1, 1)(x))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = unet(cfg.data.size, cfg.data.bands, cfg.train.filters)
        self.opt = keras.optimizers.Adam(cfg.train.lr)
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)
        self.opt.build(self.model.trainable_variables)

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            p = tf.sigmoid(logits)
            dice = 1.0 - 2.0 * tf.reduce_sum(p * y) / (tf.reduce_sum(p) + tf.reduce_sum(y) + 1.0)
            loss = self.bce(y, logits) + 0.5 * dice
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    @tf.function(reduce_retracing=True)
    def probabilities(self, x):
        return tf.sigmoid(self.model(x, training=False))

    def segment(self, imgs):
        n = self.cfg.train.eval_batch
        out = [self.probabilities(imgs[i:i + n]).numpy() for i in range(0, len(imgs), n)]
        return np.concatenate(out)

    def validate(self, imgs, masks):
        hit = self.segment(imgs) > self.cfg.train.threshold
        truth = masks > 0.5
        inter = np.logical_and(hit, truth).sum((1, 2, 3))
        union = np.logical_or(hit, truth).sum((1, 2, 3))
        return float(np.mean((inter + 1) / (union + 1)))

    def run(self, train, val):
        t = self.cfg.train
        ds = (tf.data.Dataset.from_tensor_slices(train).shuffle(len(train[0]), seed=1)
              .batch(t.batch, drop_remainder=True).prefetch(2))
        history = []
        for epoch in range(t.epochs):
            mean = keras.metrics.Mean()
            for x, y in ds:
                mean.update_state(self.step(x, y))
            iou = self.validate(*val)
            history.append(iou)
            print(f"{self.cfg.name} epoch {epoch + 1}/{t.epochs} loss {float(mean.result()):.4f} IoU {iou:.3f}")
        return history
