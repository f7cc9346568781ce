# mask: (?m)^.*(?:Executing op|eager_op_rewrite).*Range in device.*$
import tensorflow as tf

tf.debugging.set_log_device_placement(True)

from training import Training  # noqa: E402

training = Training()
print(training.train(10))
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(training.w**2)
print(tape.gradient(loss, training.w).numpy().tolist())
training.keep()
