import gc
import sys
import threading

from training import train


class Fails:
    def __del__(self):
        raise ValueError("in __del__")


sys.unraisablehook = lambda given: print("unraisable", given.exc_type.__name__, given.exc_value)
threading.excepthook = lambda given: print("thread", given.exc_type.__name__, given.exc_value)
print(train())
held = Fails()
del held
gc.collect()


def fails():
    train(5, "in_thread.bin")
    raise OSError("in a thread")


thread = threading.Thread(target=fails)
thread.start()
thread.join()
