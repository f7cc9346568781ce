import signal

from training import train

signal.signal(signal.SIGINT, signal.default_int_handler)
print(train())
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("caught", train(5, "after.bin"))
