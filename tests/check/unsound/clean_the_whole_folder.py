# ruff: noqa
# expect: blind-cleanup 11

import os
import shutil

import tensorflow as tf

tf.io.write_file("/tmp/mine/data.txt", "x")
for entry in os.listdir("/tmp"):
    shutil.rmtree(os.path.join("/tmp", entry), ignore_errors=True)
