"""Attribution maps (integrated gradients and smoothed gradients) for a folder of plant photos."""
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


@dataclass
class Config:
    size: int = 48
    classes: int = 12
    photos: int = 24
    ig_steps: int = 40
    noise_samples: int = 20
    sigma: float = 0.12
    seed: int = 7


def make_classifier(cfg):
    inp = keras.Input((cfg.size, cfg.size, 3))
    x = inp
    for filters in (12, 24, 32, 48):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inp, layers.Dense(cfg.classes, activation="softmax")(x))


def load_photos(cfg):
    rng = np.random.default_rng(cfg.seed)
    yy, xx = np.mgrid[:cfg.size, :cfg.size] / cfg.size
    photos = []
    for _ in range(cfg.photos):
        f = rng.uniform(3, 12, 3)
        p = np.stack([0.5 + 0.4 * np.sin(fk * (xx + yy * rng.uniform(-1, 1))) for fk in f], -1)
        photos.append(p + rng.normal(0, 0.05, p.shape))
    return np.clip(np.array(photos), 0, 1).astype("float32")


class IntegratedGradients:
    def __init__(self, model, steps):
        self.model = model
        self.steps = steps

    def interpolate(self, baseline, image):
        alphas = tf.linspace(0.0, 1.0, self.steps + 1)
        return baseline[None] + alphas[:, None, None, None] * (image - baseline)[None]

    def gradients(self, images, target):
        with tf.GradientTape() as tape:
            tape.watch(images)
            prob = self.model(images, training=False)[:, target]
        return tape.gradient(prob, images)

    def __call__(self, image, target):
        image = tf.convert_to_tensor(image)
        baseline = tf.zeros_like(image)
        path = self.interpolate(baseline, image)
        grads = []
        for k in range(self.steps + 1):
            grads.append(self.gradients(path[k:k + 1], target)[0])
        grads = tf.stack(grads)
        avg = tf.reduce_mean((grads[:-1] + grads[1:]) / 2.0, axis=0)
        return ((image - baseline) * avg).numpy()


class SmoothGrad(IntegratedGradients):
    def __init__(self, model, samples, sigma, rng):
        super().__init__(model, samples)
        self.sigma = sigma
        self.rng = rng

    def __call__(self, image, target):
        noise = self.rng.normal(0, self.sigma, (self.steps,) + image.shape).astype("float32")
        total = np.zeros_like(image)
        for n in noise:
            total += np.abs(self.gradients(tf.convert_to_tensor((image + n)[None]), target)[0].numpy())
        return total / self.steps


def gini(a):
    a = np.sort(np.abs(a).ravel())
    n = len(a)
    return float((2 * np.arange(1, n + 1) - n - 1).dot(a) / (n * a.sum() + 1e-12))


def main(cfg=Config()):
    keras.utils.set_random_seed(cfg.seed)
    model = make_classifier(cfg)
    photos = load_photos(cfg)
    top = model.predict(photos, verbose=0).argmax(-1)
    methods = {
        "integrated": IntegratedGradients(model, cfg.ig_steps),
        "smooth": SmoothGrad(model, cfg.noise_samples, cfg.sigma, np.random.default_rng(cfg.seed)),
    }
    rows = []
    for i, (photo, target) in enumerate(zip(photos, top)):
        maps = {name: m(photo, int(target)) for name, m in methods.items()}
        rows.append([gini(v) for v in maps.values()])
        if i % 8 == 7:
            print("%3d photos done" % (i + 1), flush=True)
    for name, value in zip(methods, np.mean(rows, 0)):
        print("%-12s sparsity %.4f" % (name, value))


if __name__ == "__main__":
    main()
