import atexit
import threading
import weakref

from training import Training


class Trained:
    """Trains once more when it is thrown away, at the very end too."""

    def __init__(self, name):
        self.name, self.training = name, Training()

    def __del__(self):
        self.training.train(10)
        self.training.keep(f"{self.name}.bin")
        print("deleted", self.name)


def last(training):
    print("finalized", training.train(15))


once = Trained("once")
del once
held = Trained("held")
kept = Training(3)
finalizer = weakref.finalize(kept, last, Training(4))
atexit.register(lambda: print("at exit", kept.train(10)))
threading._register_atexit(lambda: print("threads end", kept.train(10)))
print(kept.train(20), finalizer.alive)
