# env: PYTHONPATH=first:second::gone
import os
import sys

import other
import package
from training import train

print(package.WHERE, other.WHERE, [os.path.basename(path) for path in sys.path[:4]])
print(train())
