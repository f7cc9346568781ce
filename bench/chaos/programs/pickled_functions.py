import copy
import functools
import pickle

import tensorflow as tf
from training import Training, keras_model

train_step = tf.keras.Model.train_step
for thing in (tf.function, tf.keras.Model.fit, tf.GradientTape.gradient, tf.data.Dataset.map):
    again = pickle.loads(pickle.dumps(thing))
    print(again is thing, copy.deepcopy(thing) is thing, again.__qualname__)
training = Training()
training.train(20)
partial = functools.partial(tf.reduce_mean, axis=0)
print(pickle.loads(pickle.dumps(partial))(tf.constant([[1.0, 3.0], [3.0, 5.0]])).numpy())
for thing in (training.step, training, tf.data.Dataset.range(3), tf.GradientTape()):
    try:
        print(len(pickle.dumps(thing)) > 0)
    except Exception as error:
        print(type(error).__name__, str(error)[:80])
model = keras_model()
print(model.train_step.__func__ is train_step, tf.keras.Model.fit is type(model).fit)
print(hash(tf.function) == hash(tf.function), tf.function == copy.copy(tf.function))
training.keep()
