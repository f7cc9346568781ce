# ruff: noqa
# expect: blind-cleanup 8

import subprocess

import tensorflow as tf

subprocess.run(["rm", "-rf", "/tmp/tfhub_modules"], check=True)
tf.random.set_seed(1)
