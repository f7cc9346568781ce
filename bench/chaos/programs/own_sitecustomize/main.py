# env: PYTHONPATH=site
import builtins
import sys

import sitecustomize
from training import train

print(builtins.from_site, sitecustomize.VALUE, sitecustomize.__name__, sys.path[1:2])
print(train())
