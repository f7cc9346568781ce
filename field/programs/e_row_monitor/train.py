"""Tabular regression under a MonitoredTrainingSession."""
import shutil
import tempfile

import numpy as np
import tensorflow as tf2

tf = tf2.compat.v1
tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)

PARAMS = {
    "seed": 5,
    "rows": 20000,
    "columns": 96,
    "batch": 128,
    "layers": [512, 512, 256],
    "lr": 1e-3,
    "max_steps": 240,
    "log_every": 40,
    "session": {
        "save_checkpoint_steps": 4,
        "save_summaries_steps": 1,
        "log_step_count_steps": None,
    },
}


def make_rows(p):
    g = np.random.default_rng(p["seed"])
    x = g.standard_normal((p["rows"], p["columns"]), dtype=np.float32)
    w = g.standard_normal((p["columns"], 1)).astype(np.float32)
    y = np.sin(x @ w * 0.2) + 0.05 * g.standard_normal((p["rows"], 1))
    return x, y.astype(np.float32)


def input_fn(p):
    x, y = make_rows(p)
    px, py = tf.placeholder(x.dtype, x.shape), tf.placeholder(y.dtype, y.shape)
    ds = tf.data.Dataset.from_tensor_slices((px, py))
    ds = ds.shuffle(p["rows"], seed=p["seed"]).repeat().batch(p["batch"]).prefetch(2)
    it = tf.data.make_initializable_iterator(ds)

    def init(scaffold, session):
        session.run(it.initializer, {px: x, py: y})

    return it.get_next(), init


def network(x, p):
    for i, width in enumerate(p["layers"]):
        with tf.variable_scope("layer_%d" % i):
            w = tf.get_variable("kernel", [x.shape[-1], width], initializer=tf.initializers.he_normal(seed=i))
            b = tf.get_variable("bias", [width], initializer=tf.zeros_initializer())
            x = tf.nn.relu(tf.matmul(x, w) + b)
            tf.summary.histogram("kernel", w)
            tf.summary.histogram("activation", x)
    w = tf.get_variable("out", [x.shape[-1], 1], initializer=tf.glorot_normal_initializer(seed=9))
    return tf.matmul(x, w)


def main(p, folder):
    tf.set_random_seed(p["seed"])
    (x, y), init = input_fn(p)
    loss = tf.losses.mean_squared_error(y, network(x, p))
    step = tf.train.get_or_create_global_step()
    opt = tf.train.AdamOptimizer(p["lr"])
    pairs = opt.compute_gradients(loss)
    for g, v in pairs:
        tf.summary.histogram("gradient/" + v.op.name, g)
    tf.summary.scalar("loss", loss)
    train_op = opt.apply_gradients(pairs, global_step=step)

    hooks = [tf.train.StopAtStepHook(last_step=p["max_steps"])]
    scaffold = tf.train.Scaffold(init_fn=init)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, scaffold=scaffold, hooks=hooks,
                                           **p["session"]) as session:
        while not session.should_stop():
            _, value, n = session.run([train_op, loss, step])
            if n % p["log_every"] == 0:
                print("step", n, "mse", round(float(value), 5))


if __name__ == "__main__":
    out = tempfile.mkdtemp(prefix="rows_")
    try:
        main(PARAMS, out)
    finally:
        shutil.rmtree(out, ignore_errors=True)
