"""Hidden Markov model trained with the forward algorithm (gradient of the log-likelihood)."""
import numpy as np
import tensorflow as tf


class HMM(tf.Module):
    def __init__(self, states, symbols):
        super().__init__()
        self.trans = tf.Variable(tf.random.normal([states, states]))
        self.emit = tf.Variable(tf.random.normal([states, symbols]))
        self.start = tf.Variable(tf.zeros([states]))

    def log_likelihood(self, obs):
        """obs: [time, batch] of symbol ids"""
        A = tf.nn.softmax(self.trans, axis=1)
        B = tf.transpose(tf.nn.softmax(self.emit, axis=1))
        alpha = tf.nn.softmax(self.start)[None] * tf.gather(B, obs[0])
        norm = tf.reduce_sum(alpha, axis=1, keepdims=True)
        alpha, total = alpha / norm, tf.math.log(norm)
        n = tf.shape(obs)[0]

        def body(t, alpha, total):
            alpha = tf.matmul(alpha, A) * tf.gather(B, obs[t])
            norm = tf.reduce_sum(alpha, axis=1, keepdims=True)
            return t + 1, alpha / norm, total + tf.math.log(norm)

        _, _, total = tf.while_loop(lambda t, *_: t < n, body, [tf.constant(1), alpha, total])
        return tf.reduce_mean(total)


def sequences(n, length, symbols, seed=0):
    rng = np.random.default_rng(seed)
    jump = rng.integers(1, 5, (n, length)).cumsum(axis=1)
    return ((jump + rng.integers(0, symbols, (n, 1))) % symbols).astype("int32")


def main():
    tf.random.set_seed(12)
    model = HMM(states=384, symbols=40)
    opt = tf.keras.optimizers.Adam(0.05)
    opt.build(model.trainable_variables)

    @tf.function
    def step(obs):
        with tf.GradientTape() as tape:
            nll = -model.log_likelihood(tf.transpose(obs))
        grads = tape.gradient(nll, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        return nll

    data = sequences(2048, 40, 40)
    ds = tf.data.Dataset.from_tensor_slices(data).shuffle(2048).repeat().batch(256)
    for n, obs in enumerate(ds.take(40)):
        nll = step(obs)
        if n % 8 == 0:
            print("step %2d  nll per symbol %.4f" % (n, float(nll) / obs.shape[1]))


if __name__ == "__main__":
    main()
