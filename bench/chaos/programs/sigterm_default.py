import os
import signal
import sys

from training import train

print(train())
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGTERM)
