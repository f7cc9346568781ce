import atexit

from training import train


@atexit.register
def fails():
    raise RuntimeError("at exit")


print(train())
