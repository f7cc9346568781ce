import inspect
import sys

import tensorflow as tf
from training import Training, fit, keras_model, train

train()
fit(keras_model())
for thing in (
    tf.keras.Model.fit,
    tf.keras.Model.predict,
    tf.keras.optimizers.Adam.apply_gradients,
    tf.GradientTape.gradient,
    tf.Variable.assign,
    tf.data.Dataset.map,
    tf.data.Dataset.__iter__,
    tf.function,
    tf.keras.callbacks.Callback.on_epoch_end,
    type(tf.constant(1.0)).numpy,
    tf.compat.v1.Session.run,
    tf.train.Checkpoint.save,
):
    print(thing.__module__, thing.__qualname__, inspect.signature(thing), callable(thing))
    print(inspect.isfunction(thing), bool(inspect.getdoc(thing)), thing.__name__)
    print(inspect.getsourcefile(thing).rpartition("site-packages")[2])
step = Training().step
print(type(step).__name__, step.python_function.__name__, inspect.isclass(tf.keras.Model))
print(sys.gettrace(), sys.getprofile(), sys.getswitchinterval(), sys.getrecursionlimit())
