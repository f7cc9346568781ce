import tracemalloc

from training import train

tracemalloc.start(3)
print(train(), tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())
tracemalloc.take_snapshot()
tracemalloc.stop()
