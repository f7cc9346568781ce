import numpy as np
import tensorflow as tf

from stages import StageTrainer, default_plan


def make_data(n=8192, dim=512, classes=12):
    rng = np.random.default_rng(31)
    centre = rng.normal(size=(classes, dim))
    y = rng.integers(0, classes, n).astype("int32")
    x = centre[y] + 2.0 * rng.normal(size=(n, dim))
    return x.astype("float32"), y


def main():
    tf.keras.utils.set_random_seed(31)
    x, y = make_data()
    model = tf.keras.Sequential([
        tf.keras.Input((512,)),
        tf.keras.layers.Dense(1400, activation="relu"),
        tf.keras.layers.Dense(1400, activation="relu"),
        tf.keras.layers.Dense(12),
    ])
    ds = tf.data.Dataset.from_tensor_slices((x[1024:], y[1024:])).shuffle(4096).repeat().batch(512)
    batches = iter(ds.prefetch(2))
    trainer = StageTrainer(model, 12, 0.02)
    for plan in default_plan():
        loss = trainer.run(plan, batches)
        acc = trainer.accuracy(tf.constant(x[:1024]), tf.constant(y[:1024]))
        print(f"{plan.name:8s} {plan.steps:3d} steps  loss {loss:.4f}  held-out accuracy {float(acc):.3f}")


if __name__ == "__main__":
    main()
