import contextlib
import io
import os
import sys

from training import Training


class Tee:
    """What many scripts put in the place of sys.stdout: two methods, nothing else."""

    def __init__(self, *streams):
        self.streams = streams

    def write(self, text):
        for stream in self.streams:
            stream.write(text)

    def flush(self):
        pass


log = open("log.txt", "w")
sys.stdout = Tee(sys.__stdout__, log)
sys.stderr = Tee(sys.__stderr__, log)
training = Training()
print(training.train())
with contextlib.redirect_stdout(io.StringIO()) as kept:
    print(training.train())
print(repr(kept.getvalue()), file=sys.stderr)
sys.__stdout__.flush()
log.flush()
os.dup2(log.fileno(), 1)
print(training.train())
training.keep()
