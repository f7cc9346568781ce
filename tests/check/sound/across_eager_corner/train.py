# ruff: noqa
# expect: nothing

import tensorflow as tf
from spec import read

records = tf.data.Dataset.list_files("*").map(read)
