import json
import os
import tempfile
import time

import numpy as np
import tensorflow as tf

# Gaussian-process fit of hourly soil temperature, one model for each station.
# Stations reported a different number of valid hours.

CFG = {"iters": 75, "lr": 0.06, "jitter": 1e-3, "report": 25, "seed": 4,
       "stations": {"Aller": 620, "Brome": 900, "Celle": 760, "Dorum": 1040}}


def synth(n, rng):
    t = np.sort(rng.uniform(0, 30, n))
    depth = rng.uniform(0.05, 0.6, n)
    y = 8 * np.exp(-2 * depth) * np.sin(2 * np.pi * t - 3 * depth) + 0.8 * np.sin(t / 4) + 0.3 * rng.normal(size=n)
    x = np.stack([t, depth], 1).astype("float32")
    return x, ((y - y.mean()) / y.std()).astype("float32")


class GP(tf.Module):
    def __init__(self):
        super().__init__()
        self.log_len = tf.Variable([0.5, -1.0], name="log_len")
        self.log_per = tf.Variable(0.0, name="log_per")
        self.log_amp = tf.Variable([0.0, -0.5], name="log_amp")
        self.log_noise = tf.Variable(-1.5, name="log_noise")

    def kernel(self, a, b):
        amp = tf.exp(self.log_amp)
        ls = tf.exp(self.log_len)
        dt = a[:, None, 0] - b[None, :, 0]
        dz = (a[:, None, 1] - b[None, :, 1]) / ls[1]
        per = tf.exp(-2.0 * tf.square(tf.sin(np.pi * dt / tf.exp(self.log_per))))
        slow = tf.exp(-0.5 * tf.square(dt / (4.0 * ls[0])))
        return tf.exp(-0.5 * tf.square(dz)) * (amp[0] * per * slow + amp[1] * slow)

    def nll(self, x, y):
        n = tf.shape(x)[0]
        k = self.kernel(x, x) + (tf.exp(2 * self.log_noise) + CFG["jitter"]) * tf.eye(n)
        chol = tf.linalg.cholesky(k)
        alpha = tf.linalg.cholesky_solve(chol, y[:, None])[:, 0]
        return (0.5 * tf.reduce_sum(y * alpha) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)))) / tf.cast(n, tf.float32)


gp = GP()
opt = tf.keras.optimizers.Adam(CFG["lr"])
opt.build(gp.trainable_variables)
start_values = [v.numpy() for v in gp.trainable_variables]


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = gp.nll(x, y)
    g = tape.gradient(loss, gp.trainable_variables)
    opt.apply_gradients(zip(g, gp.trainable_variables))
    return loss


@tf.function
def predict(x, y, xs):
    k = gp.kernel(x, x) + (tf.exp(2 * gp.log_noise) + CFG["jitter"]) * tf.eye(tf.shape(x)[0])
    chol = tf.linalg.cholesky(k)
    return tf.linalg.matvec(gp.kernel(xs, x), tf.linalg.cholesky_solve(chol, y[:, None])[:, 0])


def fit_station(name, n, rng):
    x, y = synth(n, rng)
    hold = rng.permutation(n) < 40
    xt, yt = tf.constant(x[~hold]), tf.constant(y[~hold])
    for v, s in zip(gp.trainable_variables, start_values):
        v.assign(s)
    for v in opt.variables:
        v.assign(tf.zeros_like(v)) if "learning_rate" not in v.path else None
    curve = []
    t0 = time.time()
    for i in range(CFG["iters"]):
        curve.append(float(step(xt, yt)))
        if (i + 1) % CFG["report"] == 0:
            print(f"  {name} it {i + 1:3d} nll {curve[-1]:.4f}")
    err = predict(xt, yt, tf.constant(x[hold])).numpy() - y[hold]
    print(f"{name}: n={n} rmse {np.sqrt((err ** 2).mean()):.3f}  ({time.time() - t0:.1f}s)")
    return {"nll": curve, "period": float(tf.exp(gp.log_per)), "noise": float(tf.exp(gp.log_noise))}


if __name__ == "__main__":
    rng = np.random.default_rng(CFG["seed"])
    result = {name: fit_station(name, n, rng) for name, n in CFG["stations"].items()}
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "kriging.json"), "w") as f:
            json.dump(result, f)
    print({k: round(v["period"], 3) for k, v in result.items()})
