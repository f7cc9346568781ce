import tensorflow as tf
from training import fit, keras_model

fitted = tf.keras.Model.fit
seen = []


def own_fit(self, *args, **kwargs):
    seen.append(sorted(kwargs))
    return fitted(self, *args, **kwargs)


tf.keras.Model.fit = own_fit


class Own(tf.keras.Model):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, x, training=False):
        return self.inner(x, training=training)

    def train_step(self, data):
        seen.append("train_step")
        return super().train_step(data)


own = Own(keras_model())
own.compile("sgd", "mse")
fit(own)
print(seen, own.optimizer.iterations.numpy(), tf.keras.Model.fit is own_fit)
