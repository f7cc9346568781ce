# env: PYTHONIOENCODING=ascii:strict LC_ALL=C PYTHONUTF8=0
# exit: 1
import sys

from training import train

print(train(), sys.stdout.encoding, sys.getfilesystemencoding())
print("gr\u00fcn")
