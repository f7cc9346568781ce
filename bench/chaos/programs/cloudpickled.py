# needs: cloudpickle
import cloudpickle
import tensorflow as tf
from training import Training, train

factor = 3


def work(steps):
    return train(steps) * factor


print(cloudpickle.loads(cloudpickle.dumps(work))(10))
print(cloudpickle.loads(cloudpickle.dumps(lambda: Training(3).train(5)))())
made = cloudpickle.loads(cloudpickle.dumps(tf.keras.Model.fit))
print(made.__name__)
print(cloudpickle.loads(cloudpickle.dumps(tf.GradientTape)) is tf.GradientTape)
