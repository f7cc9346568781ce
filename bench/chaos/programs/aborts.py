import ctypes

from training import train

print(train(), flush=True)
ctypes.string_at(0)
