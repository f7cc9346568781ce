import warnings

import tensorflow as tf
from training import fit, keras_model, train

warnings.simplefilter("always")


class Warns(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            warnings.warn("from a callback", stacklevel=1)


@tf.function
def traced(x):
    warnings.warn("while tracing", stacklevel=1)
    return x + 1


print(train(), traced(tf.constant(1.0)).numpy())
fit(keras_model(), callbacks=[Warns()])
unbuilt = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
iterator = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(3))
print(iterator.get_next().numpy())
