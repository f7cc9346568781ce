import os
import sys

from training import train

print(train())
sys.stdout.flush()
os.close(1)
train(20, "later.bin")
sys.stderr.write("stdout is closed\n")
os.open(os.devnull, os.O_WRONLY)
