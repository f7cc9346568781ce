"""Single-box regression on synthetic images with an IoU loss term, Keras fit."""
from types import SimpleNamespace

import numpy as np
import tensorflow as tf
from tensorflow import keras

flags = SimpleNamespace(
    images=640,
    size=24,
    batch=32,
    epochs=2,
    lr=1e-3,
    iou_weight=0.5,
    eager=True,
    verbose=2,
)


def make_boxes(n, size, seed=3):
    rng = np.random.default_rng(seed)
    x = 0.1 * rng.random((n, size, size, 1)).astype("float32")
    boxes = np.zeros((n, 4), "float32")
    for k in range(n):
        w, h = rng.integers(5, 12, 2)
        left, top = rng.integers(0, size - w), rng.integers(0, size - h)
        x[k, top:top + h, left:left + w] += 0.8
        boxes[k] = [left / size, top / size, (left + w) / size, (top + h) / size]
    return x, boxes


def iou(a, b):
    ix = tf.maximum(0.0, tf.minimum(a[2], b[2]) - tf.maximum(a[0], b[0]))
    iy = tf.maximum(0.0, tf.minimum(a[3], b[3]) - tf.maximum(a[1], b[1]))
    inter = ix * iy
    area_a = tf.maximum(0.0, a[2] - a[0]) * tf.maximum(0.0, a[3] - a[1])
    area_b = (b[2] - b[0]) * (b[3] - b[1])
    return inter / (area_a + area_b - inter + 1e-6)


def mean_iou(y_true, y_pred):
    values = []
    for k in range(flags.batch):
        values.append(iou(y_pred[k], y_true[k]))
    return tf.reduce_mean(tf.stack(values))


class BoxNet(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.Sequential([
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(16, 3, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(4, activation="sigmoid"),
        ])
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.iou_tracker = keras.metrics.Mean(name="iou")

    def call(self, x):
        return self.body(x)

    @property
    def metrics(self):
        return [self.loss_tracker, self.iou_tracker]

    def train_step(self, batch):
        x, y = batch
        with tf.GradientTape() as tape:
            pred = self(x, training=True)
            overlap = mean_iou(y, pred)
            loss = tf.reduce_mean(tf.abs(pred - y)) + flags.iou_weight * (1.0 - overlap)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        self.iou_tracker.update_state(overlap)
        return {m.name: m.result() for m in self.metrics}


if __name__ == "__main__":
    keras.utils.set_random_seed(3)
    x, y = make_boxes(flags.images, flags.size)
    model = BoxNet()
    model.compile(optimizer=keras.optimizers.Adam(flags.lr), run_eagerly=flags.eager)
    model.fit(x, y, batch_size=flags.batch, epochs=flags.epochs, verbose=flags.verbose)
