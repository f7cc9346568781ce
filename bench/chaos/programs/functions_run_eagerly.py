import tensorflow as tf
from training import fit, keras_model, train

tf.config.run_functions_eagerly(True)
print(train(), tf.config.functions_run_eagerly())
tf.config.run_functions_eagerly(False)
model = keras_model()
model.run_eagerly = True
fit(model)
print(train(5, "later.bin"))
