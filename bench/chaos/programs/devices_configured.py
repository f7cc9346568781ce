import tensorflow as tf
from training import fit, keras_model, train

# All of these must come before TensorFlow's context is made.
tf.config.threading.set_inter_op_parallelism_threads(2)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.experimental.enable_op_determinism()
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
print(tf.config.list_logical_devices(), tf.config.threading.get_inter_op_parallelism_threads())
tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
tf.random.set_seed(1)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = keras_model()
fit(model)
print(train(20, "plain.bin"), strategy.num_replicas_in_sync)
