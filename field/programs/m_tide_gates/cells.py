import keras
import tensorflow as tf
from keras import layers


class LeakyGate(layers.Layer):
    """Recurrent layer with a learned time constant per unit (after Jaeger's leaky integrator)."""

    def __init__(self, units, return_sequences=False, **kw):
        super().__init__(**kw)
        self.units = units
        self.return_sequences = return_sequences

    def build(self, shape):
        d = shape[-1]
        self.w_in = self.add_weight(name="w_in", shape=(d, 2 * self.units), initializer="glorot_uniform")
        self.w_rec = self.add_weight(name="w_rec", shape=(self.units, 2 * self.units), initializer="orthogonal")
        self.bias = self.add_weight(name="bias", shape=(2 * self.units,), initializer="zeros")
        self.log_tau = self.add_weight(name="log_tau", shape=(self.units,), initializer="ones")

    def advance(self, h, x_t):
        z = x_t + tf.matmul(h, self.w_rec)
        cand, gate = tf.split(z, 2, axis=-1)
        leak = tf.exp(-tf.nn.softplus(self.log_tau)) * tf.sigmoid(gate)
        return (1.0 - leak) * h + leak * tf.tanh(cand)

    def call(self, x):
        drive = tf.einsum("btd,du->btu", x, self.w_in) + self.bias
        h = tf.zeros((tf.shape(x)[0], self.units))
        states = []
        for t in range(x.shape[1]):
            h = self.advance(h, drive[:, t])
            states.append(h)
        if self.return_sequences:
            return tf.stack(states, axis=1)
        return h

    def compute_output_shape(self, shape):
        if self.return_sequences:
            return (shape[0], shape[1], self.units)
        return (shape[0], self.units)
