"""Recover the parameters of a central force from start and end points of many short orbits."""
import numpy as np
import tensorflow as tf

BODIES, SUBSTEPS, DT, UPDATES = 20000, 12, 0.05, 800


class Force(tf.Module):
    def __init__(self, strength, soft, drag, spin):
        super().__init__()
        self.strength = tf.Variable(strength)
        self.soft = tf.Variable(soft)
        self.drag = tf.Variable(drag)
        self.spin = tf.Variable(spin)

    def acceleration(self, x, y, u, v):
        r2 = x * x + y * y + self.soft * self.soft
        pull = self.strength / (r2 + 0.1 * r2 * r2)
        ax = -pull * x - self.drag * u + self.spin * v
        ay = -pull * y - self.drag * v - self.spin * u
        return ax, ay

    def integrate(self, state):
        x, y, u, v = tf.unstack(state)
        for _ in range(SUBSTEPS):
            ax, ay = self.acceleration(x, y, u, v)
            u, v = u + DT * ax, v + DT * ay
            x, y = x + DT * u, y + DT * v
        return tf.stack([x, y, u, v])


def main():
    rng = np.random.default_rng(17)
    start = tf.constant(rng.normal(size=(4, BODIES)), tf.float32)
    end = Force(2.0, 0.6, 0.1, 0.3).integrate(start)
    guess = Force(1.0, 1.0, 0.0, 0.0)
    opt = tf.keras.optimizers.Adam(5e-3)
    opt.build(guess.trainable_variables)

    @tf.function
    def update():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(guess.integrate(start) - end))
        grads = tape.gradient(loss, guess.trainable_variables)
        opt.apply_gradients(zip(grads, guess.trainable_variables))
        return loss

    best = np.inf
    for step in range(UPDATES):
        loss = float(update())
        best = min(best, loss)
        if step % 100 == 0:
            print("step %4d  loss %.3e  strength %.3f  spin %.3f" % (
                step, loss, guess.strength.numpy(), guess.spin.numpy()))
    print("best loss %.3e" % best)


if __name__ == "__main__":
    main()
