# ignore: dump/
import os

import tensorflow as tf
from training import fit, keras_model, train

tf.debugging.experimental.enable_dump_debug_info("dump", tensor_debug_mode="FULL_HEALTH")
print(train(5, "dumped.bin"), len(os.listdir("dump")) > 3)
tf.debugging.experimental.disable_dump_debug_info()
print(train())
fit(keras_model())
