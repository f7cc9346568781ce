# ruff: noqa
# expect: nothing

import glob
import os

import tensorflow as tf

base = os.path.join("/tmp", "experiment")
manager = tf.train.CheckpointManager(tf.train.Checkpoint(), base, max_to_keep=3)
for old in glob.glob(base + "/*.old"):
    os.remove(old)
for old in glob.glob("/tmp/experiment*"):
    os.remove(old)
