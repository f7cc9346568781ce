"""Small denoising diffusion model on two interleaved rings (points in the plane)."""
import numpy as np
import tensorflow as tf

CONFIG = {
    "timesteps": 320,
    "batch": 256,
    "epochs": 6,
    "updates_per_epoch": 60,
    "width": 96,
    "preview": 512,
}


def rings(n, rng):
    angle = rng.uniform(0, 2 * np.pi, n)
    which = rng.integers(0, 2, n)
    radius = np.where(which == 0, 1.0, 0.5) + rng.normal(0, 0.03, n)
    pts = np.stack([radius * np.cos(angle) + which * 0.6, radius * np.sin(angle)], 1)
    return pts.astype("float32")


class Denoiser(tf.keras.Model):
    def __init__(self, width):
        super().__init__()
        self.inner = [tf.keras.layers.Dense(width, activation="silu") for _ in range(3)]
        self.out = tf.keras.layers.Dense(2)
        self.freqs = tf.constant(2.0 ** np.arange(6, dtype="float32"))

    def call(self, x, level):
        phase = level[:, None] * self.freqs
        h = tf.concat([x, tf.sin(phase), tf.cos(phase)], axis=1)
        for dense in self.inner:
            h = dense(h)
        return self.out(h)


class Diffusion:
    def __init__(self, cfg):
        self.steps = cfg["timesteps"]
        betas = np.linspace(1e-4, 0.03, self.steps).astype("float32")
        self.beta = tf.constant(betas)
        self.alpha = 1.0 - self.beta
        self.bar = tf.math.cumprod(self.alpha)
        self.net = Denoiser(cfg["width"])
        self.opt = tf.keras.optimizers.Adam(2e-3)

    @tf.function
    def step(self, x0):
        n = tf.shape(x0)[0]
        t = tf.random.uniform((n,), 0, self.steps, tf.int32)
        bar = tf.gather(self.bar, t)[:, None]
        eps = tf.random.normal(tf.shape(x0))
        xt = tf.sqrt(bar) * x0 + tf.sqrt(1.0 - bar) * eps
        with tf.GradientTape() as tape:
            guess = self.net(xt, tf.cast(t, tf.float32) / self.steps)
            loss = tf.reduce_mean(tf.square(guess - eps))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    @tf.function
    def sample(self, count):
        x = tf.random.normal((count, 2))
        for i in range(self.steps):
            t = self.steps - 1 - i
            level = tf.fill((count,), tf.cast(t, tf.float32) / self.steps)
            eps = self.net(x, level)
            beta, alpha, bar = self.beta[t], self.alpha[t], self.bar[t]
            mean = (x - beta / tf.sqrt(1.0 - bar) * eps) / tf.sqrt(alpha)
            noise = tf.sqrt(beta) * tf.random.normal((count, 2))
            x = mean + (noise if t > 0 else tf.zeros_like(noise))
        return x


def sliced_distance(a, b, rng, directions=64):
    v = rng.normal(size=(2, directions))
    v /= np.linalg.norm(v, axis=0)
    return float(np.mean(np.abs(np.sort(a @ v, 0) - np.sort(b @ v, 0))))


def main(cfg):
    tf.random.set_seed(4)
    rng = np.random.default_rng(4)
    model = Diffusion(cfg)
    for epoch in range(cfg["epochs"]):
        losses = []
        for _ in range(cfg["updates_per_epoch"]):
            losses.append(model.step(tf.constant(rings(cfg["batch"], rng))))
        points = model.sample(cfg["preview"]).numpy()
        gap = sliced_distance(points, rings(cfg["preview"], rng), rng)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}  sliced distance {gap:.4f}")


if __name__ == "__main__":
    main(CONFIG)
