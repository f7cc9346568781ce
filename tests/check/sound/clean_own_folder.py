# ruff: noqa
# expect: nothing

import os
import shutil

import tensorflow as tf

logs = "/tmp/my_run"
os.makedirs(logs, exist_ok=True)
tf.io.write_file(os.path.join(logs, "a.txt"), "x")
shutil.rmtree(logs)
