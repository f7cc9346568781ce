import sys

from training import train

from . import __name__ as name

print(train(), sys.argv[1:], name, __spec__.name)
