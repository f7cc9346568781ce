"""TensorBoard views that the stock callback does not have."""

import tensorflow as tf
from tensorflow import keras


class WeightMonitor(keras.callbacks.Callback):
    def __init__(self, log_dir):
        super().__init__()
        self.writer = tf.summary.create_file_writer(log_dir)
        self.seen = 0

    def on_train_batch_end(self, batch, logs=None):
        with self.writer.as_default(step=self.seen):
            tf.summary.scalar("batch/loss", logs["loss"])
            for w in self.model.trainable_variables:
                tf.summary.histogram("weights/" + w.path, w)
                tf.summary.scalar("norm/" + w.path, tf.norm(w))
        self.seen += 1

    def on_train_end(self, logs=None):
        self.writer.flush()
