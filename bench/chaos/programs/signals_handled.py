import os
import signal

from training import Training

seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(("usr1", frame is not None)))
signal.signal(signal.SIGALRM, lambda number, frame: seen.append(("alarm", frame is not None)))
training = Training()
training.train()
os.kill(os.getpid(), signal.SIGUSR1)
signal.setitimer(signal.ITIMER_REAL, 0.05)
while len(seen) < 2:
    training.w.numpy()
training.train(10)
training.keep()
print(seen, signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT).__name__)
print(signal.siginterrupt, signal.sigpending(), signal.pthread_sigmask(signal.SIG_BLOCK, []))
