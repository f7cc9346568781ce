# run: sh -c '{python} - a b < from_stdin.py'
import sys

from training import train

print(sys.argv, __name__, train())
