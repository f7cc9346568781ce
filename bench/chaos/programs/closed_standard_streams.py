import sys

from training import train

print(train())
sys.stdout.close()
sys.stdin.close()
sys.stderr.close()
sys.stdout = sys.stderr = sys.stdin = None
train(20, "later.bin")
sys.exit(2)
