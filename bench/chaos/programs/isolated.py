# run: {python} -I isolated.py
import sys

sys.path.insert(0, ".")
from training import train

print(train(), sys.flags.isolated)
