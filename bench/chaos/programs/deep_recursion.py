import sys

from training import Training

training = Training()
training.train(20)
sys.setrecursionlimit(400)


def deeper(depth):
    if depth == 0:
        return float(training.step())
    return deeper(depth - 1)


print(deeper(200))
try:
    deeper(10_000)
except RecursionError as error:
    print(type(error).__name__, error)
sys.setrecursionlimit(1000)
print(training.train(10))
training.keep()
