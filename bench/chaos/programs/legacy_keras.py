# needs: tf_keras
# env: TF_USE_LEGACY_KERAS=1
import tensorflow as tf
from training import fit, keras_model

model = fit(keras_model(), epochs=3)
print(tf.keras.__version__, model.evaluate(tf.ones([8, 4]), tf.ones([8, 1]), verbose=0))
print(model.predict(tf.ones([2, 4]), verbose=0))
