# ignore: saved/fingerprint.pb saved/saved_model.pb exported/saved_model.pb exported/fingerprint.pb exported/variables model.keras
import tensorflow as tf
from training import fit, keras_model


class Module(tf.Module):
    def __init__(self):
        self.w = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = (self.w - x) ** 2
        self.w.assign_sub(0.1 * tape.gradient(loss, self.w))
        return loss


module = Module()
for number in range(20):
    module.step(tf.constant(float(number)))
tf.saved_model.save(module, "saved")
loaded = tf.saved_model.load("saved")
for number in range(20):
    loss = loaded.step(tf.constant(float(number)))
print(float(loss), float(loaded.w), sorted(loaded.signatures))
model = fit(keras_model())
model.save("model.keras")
x = tf.ones([2, 4])
print(bool(tf.reduce_all(tf.keras.models.load_model("model.keras")(x) == model(x))))
model.export("exported", verbose=False)
print(tf.saved_model.load("exported").serve(x).shape)
model.save_weights("only.weights.h5")
model.load_weights("only.weights.h5")
import os

os.remove("model.keras"), os.remove("only.weights.h5")  # zip and HDF5 hold the time
