import os
import signal
import threading

# A thread of the program waits for the signals; no other thread may take them.
waited = [signal.SIGUSR1, signal.SIGTERM]
signal.pthread_sigmask(signal.SIG_BLOCK, waited)

from training import Training  # noqa: E402

training, seen = Training(), []
thread = threading.Thread(target=lambda: seen.append(signal.sigwait(waited)))
thread.start()
training.train(50)
os.kill(os.getpid(), signal.SIGTERM)
thread.join(20)
print([one.name for one in seen], training.train(20))
training.keep()
