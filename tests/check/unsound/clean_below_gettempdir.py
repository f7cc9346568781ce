# ruff: noqa
# expect: blind-cleanup 12

import tempfile
from os.path import join
from shutil import rmtree

import keras


def tidy():
    rmtree(join(tempfile.gettempdir(), "keras_tmp"), ignore_errors=True)


keras.utils.set_random_seed(1)
