import atexit
import sys

from training import Training

training = Training()


@atexit.register
def first_registered():
    print("last", training.train(5))
    training.keep("at_exit.bin")


@atexit.register
def second_registered():
    print("first", training.train(5), sys.modules.get("training") is not None)


print(training.train())
training.keep()
atexit.register(print, "registered later")
