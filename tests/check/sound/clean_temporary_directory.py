# ruff: noqa
# expect: nothing

import os
import shutil
import tempfile

import tensorflow as tf

folder = tempfile.mkdtemp(prefix="run")
tf.io.gfile.makedirs(os.path.join(folder, "x"))
shutil.rmtree(folder)
with tempfile.TemporaryDirectory() as other:
    os.remove(os.path.join(other, "y"))
