import sys
import threading

from training import train

lines = []


def trace(frame, event, given):
    if frame.f_code.co_filename.endswith(("settrace.py", "training.py")):
        lines.append((frame.f_code.co_name, event))
        return trace
    return None


threading.settrace(trace)
sys.settrace(trace)
loss = train(10)
kept = sys.gettrace() is trace
sys.settrace(None)
print(loss, kept, len(lines), lines[:3])
