# ruff: noqa
# expect: nothing

import argparse
import shutil

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--scratch", default="/tmp/scratch")
options = parser.parse_args()
settings = {"cache": "/tmp/cache"}
shutil.rmtree(options.scratch, ignore_errors=True)
shutil.rmtree("/tmp/cache", ignore_errors=True)
tf.data.Dataset.range(3).cache(settings["cache"])
