import sys

from training import train

print(train())
sys.exit("a reason")
