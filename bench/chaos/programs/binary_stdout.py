import os
import sys

from training import train

sys.stdout.buffer.write(bytes(range(256)) * 3)
sys.stdout.flush()
train()
os.write(1, b"\xff\xfe\x00raw\r\n\x1b[31m")
os.write(2, b"\xff\xfe\x00raw\r\n\x1b[31m")
