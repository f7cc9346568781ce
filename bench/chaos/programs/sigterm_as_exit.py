import os
import signal
import sys

from training import train


def leave(number, frame):
    print("asked to leave")
    sys.exit(9)


signal.signal(signal.SIGTERM, leave)
try:
    print(train())
    os.kill(os.getpid(), signal.SIGTERM)
    train(1000)
finally:
    print("cleaned up")
