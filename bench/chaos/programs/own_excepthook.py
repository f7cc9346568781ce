# exit: 1
import sys
import traceback

from training import train


def hook(kind, error, trace):
    print("own hook", kind.__name__, error, len(traceback.extract_tb(trace)))
    print("".join(traceback.format_exception(kind, error, trace)))


sys.excepthook = hook
print(train())
print(sys.excepthook is hook)
raise KeyError("gone")
