import gc
import weakref

import tensorflow as tf
from training import Training, fit, keras_model

gc.collect()
model = fit(keras_model())
optimizer = weakref.ref(model.optimizer)
held = weakref.ref(model)
del model
tf.keras.backend.clear_session()
gc.collect()
print(held() is None, optimizer() is None)
training = Training()
training.train(100)
training.keep("training.bin")
variable, step = weakref.ref(training.w), weakref.ref(training.step)
del training
gc.collect()
print(variable() is None, step() is None)
data = tf.data.Dataset.range(3)
kept = weakref.ref(data)
print([int(value) for value in data])
del data
gc.collect()
print(kept() is None)
