# ruff: noqa
# expect: nothing

import shutil

# The word tensorflow alone makes no TensorFlow program.
shutil.rmtree("/tmp/build_output")
