# run: {python} -OO optimized.py
"""This docstring is gone under -OO."""
import sys

from training import train

assert False, "asserts are off"
print(train(), __doc__, __debug__, sys.flags.optimize)
