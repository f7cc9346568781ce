import os

from training import train

print(train(), flush=True)
os._exit(11)
