import importlib

import numpy
import tensorflow as tf
import training

print(training.train(10, "before.bin"))
again = importlib.reload(training)
print(again is training, again.train(10, "after.bin"))
print(importlib.reload(tf.keras.layers) is not None)
print(again.train(10, "third.bin"))
