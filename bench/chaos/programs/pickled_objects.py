import pickle

import tensorflow as tf
from training import fit, keras_model

model = fit(keras_model())
again = pickle.loads(pickle.dumps(model))
x = tf.ones([2, 4])
print(bool(tf.reduce_all(model(x) == again(x))), type(again).__name__)
config = pickle.loads(pickle.dumps(model.optimizer.get_config()))
print(sorted(config)[:4])
weights = pickle.loads(pickle.dumps(model.get_weights()))
print([value.shape for value in weights])
tensor = tf.constant([1.0, 2.0])
print(pickle.loads(pickle.dumps(tensor)).numpy())
try:
    pickle.dumps(tf.function(lambda x: x))
except Exception as error:
    print(type(error).__name__)
fit(again)
