# ruff: noqa
# expect: nothing

import shutil

import tensorflow as tf

LOGS = "/tmp/tb_logs"
shutil.rmtree(LOGS, ignore_errors=True)
board = tf.keras.callbacks.TensorBoard(log_dir=LOGS)
