import numpy as np
import tensorflow as tf
from training import train


def numbers():
    for number in range(6):
        yield number


def double(value):
    return value * 2


data = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int64))
data = data.map(lambda x: tf.py_function(double, [x], tf.int64))
data = data.map(lambda x: tf.numpy_function(np.square, [x], tf.int64)).batch(2)
print([batch.numpy().tolist() for batch in data], train())


def fails(value):
    raise ValueError("in the input")


try:
    # One element: how many more are prepared, and fail, and are logged, is a matter of time.
    for _ in tf.data.Dataset.range(1).map(lambda x: tf.py_function(fails, [x], tf.int64)):
        pass
except tf.errors.InvalidArgumentError as error:
    print(type(error).__name__, "in the input" in str(error))
