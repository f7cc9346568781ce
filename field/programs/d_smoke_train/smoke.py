"""CI smoke test: three real optimisation steps of the detector's trunk, loss must stay finite."""
import sys

import tensorflow as tf


class Trunk(tf.keras.Model):
    def __init__(self, classes=20):
        super().__init__()
        self.stages = []
        for width in (32, 64, 96):
            self.stages.append(tf.keras.layers.Conv2D(width, 3, padding="same", activation="relu"))
            self.stages.append(tf.keras.layers.Conv2D(width, 3, strides=2, padding="same", activation="relu"))
        self.pool = tf.keras.layers.GlobalAveragePooling2D()
        self.head = tf.keras.layers.Dense(classes)

    def call(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.head(self.pool(x))


def main(steps=3, batch=48, side=128):
    tf.keras.utils.set_random_seed(5)
    model = Trunk()
    optimizer = tf.keras.optimizers.SGD(0.01, momentum=0.9)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for step in range(steps):
        images = tf.random.uniform([batch, side, side, 3])
        labels = tf.random.uniform([batch], 0, 20, tf.int32)
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        print(f"step {step + 1}/{steps} loss {float(loss):.4f} grad norm {float(tf.linalg.global_norm(grads)):.4f}")
        if not tf.math.is_finite(loss):
            sys.exit("loss is not finite")
    print("smoke test passed")


if __name__ == "__main__":
    main()
