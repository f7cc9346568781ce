import sys

from training import Training

training = Training()
for number in range(40):
    training.step()
    print("x" * 500_000)
    print("e" * 10_000, file=sys.stderr)
training.keep()
