"""Single-image super-resolution of textile scans, trained at two scales in turn."""
import dataclasses
import time

import numpy as np
import tensorflow as tf


@dataclasses.dataclass
class Hyper:
    crops: tuple = (40, 64)
    batches: tuple = (12, 6)
    rounds: int = 5
    steps_per_scale: int = 30
    channels: int = 32
    blocks: int = 4
    lr: float = 4e-4
    report: int = 10


def weave(rng, size=160):
    y, x = np.mgrid[0:size, 0:size] / size
    warp, weft = rng.uniform(12, 30, 2)
    skew = rng.uniform(-0.2, 0.2)
    img = np.sin(2 * np.pi * warp * (x + skew * y)) * np.sign(np.sin(2 * np.pi * weft * (y - skew * x)))
    colour = rng.uniform(0.3, 0.9, 3)
    return np.clip(0.5 + 0.35 * img[..., None] * colour + 0.03 * rng.standard_normal((size, size, 3)), 0, 1)


class EDSR(tf.keras.Model):
    def __init__(self, channels, blocks):
        super().__init__()
        conv = lambda f: tf.keras.layers.Conv2D(f, 3, padding="same")
        self.head = conv(channels)
        self.body = [(conv(channels), conv(channels)) for _ in range(blocks)]
        self.up = conv(channels * 4)
        self.tail = conv(3)

    def call(self, x):
        x = h = self.head(x - 0.5)
        for a, b in self.body:
            h = h + 0.1 * b(tf.nn.relu(a(h)))
        return self.tail(tf.nn.depth_to_space(self.up(h + x), 2)) + 0.5


class Scales:
    def __init__(self, hp):
        self.hp = hp
        rng = np.random.default_rng(33)
        self.scans = np.stack([weave(rng) for _ in range(24)]).astype(np.float32)
        self.held = self.scans[-4:]
        self.rng = rng
        self.net = EDSR(hp.channels, hp.blocks)
        self.opt = tf.keras.optimizers.Adam(hp.lr)
        self.seen = []

    def crop(self, size, n):
        out = np.empty((n, size, size, 3), np.float32)
        for i in range(n):
            k = self.rng.integers(len(self.scans) - 4)
            r, c = self.rng.integers(0, 160 - size, 2)
            out[i] = self.scans[k, r:r + size, c:c + size]
            if self.rng.random() < 0.5:
                out[i] = out[i, ::-1]
        return out

    @tf.function
    def train_step(self, high):
        low = tf.nn.avg_pool2d(high, 2, 2, "VALID")
        with tf.GradientTape() as tape:
            out = self.net(low)
            loss = tf.reduce_mean(tf.abs(out - high))
        g = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(g, self.net.trainable_variables))
        return loss

    @tf.function
    def enlarge(self, low):
        return self.net(low)

    def psnr(self):
        scores = []
        for scan in self.held:
            low = tf.nn.avg_pool2d(scan[None], 2, 2, "VALID")
            scores.append(tf.image.psnr(tf.clip_by_value(self.enlarge(low), 0, 1), scan[None], 1.0)[0].numpy())
        return float(np.mean(scores))

    def run(self):
        start = time.time()
        step = 0
        for r in range(self.hp.rounds):
            for size, n in zip(self.hp.crops, self.hp.batches):
                for _ in range(self.hp.steps_per_scale):
                    loss = self.train_step(self.crop(size, n))
                    self.seen.append(loss)
                    step += 1
                    if step % self.hp.report == 0:
                        print("step %4d crop %d L1 %.4f (last %.4f)" % (
                            step, size, float(loss), np.mean([float(v) for v in self.seen[-self.hp.report:]])))
            print("round %d PSNR %.2f  %.1fs" % (r, self.psnr(), time.time() - start))


if __name__ == "__main__":
    tf.keras.utils.set_random_seed(9)
    Scales(Hyper()).run()
