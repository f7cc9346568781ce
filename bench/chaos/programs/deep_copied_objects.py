import copy

import tensorflow as tf
from training import fit, keras_model

model = fit(keras_model())
twin = copy.deepcopy(model)
fit(twin)
print([float(tf.reduce_sum(value)) for value in twin.trainable_variables])
optimizer = copy.deepcopy(tf.keras.optimizers.Adam(0.01))
print(float(optimizer.learning_rate))
data = tf.data.Dataset.range(6).map(lambda x: x + 1).batch(2)
print([batch.numpy().tolist() for batch in copy.copy(data)])
variable = copy.deepcopy(tf.Variable([1.0, 2.0]))
print(variable.numpy(), copy.copy(tf.function).__name__)


@tf.function
def traced(x):
    return x * 2


print(copy.copy(traced)(tf.constant(2.0)).numpy(), copy.deepcopy(traced)(tf.constant(3.0)).numpy())
