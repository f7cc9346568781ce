# ruff: noqa
# expect: nothing

import shutil
import sys

import tensorflow as tf

shutil.rmtree("logs", ignore_errors=True)
shutil.rmtree("./checkpoints/old", ignore_errors=True)
shutil.rmtree(sys.argv[1])
tf.random.set_seed(0)
