import threading
import time

from training import Training, train

print(train())
other = Training(3)
started = threading.Event()


def forever():
    while True:
        other.step()
        started.set()
        time.sleep(0.001)


threading.Thread(target=forever, daemon=True).start()
started.wait()
