import signal
import time

from training import Training

seen = {"real": 0, "profile": 0, "virtual": 0}


def count(name):
    def handle(number, frame):
        seen[name] += 1

    return handle


signal.signal(signal.SIGALRM, count("real"))
signal.signal(signal.SIGPROF, count("profile"))
signal.signal(signal.SIGVTALRM, count("virtual"))
training = Training()
training.train(5)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
signal.setitimer(signal.ITIMER_VIRTUAL, 0.02, 0.02)
until = time.monotonic() + 0.5
while time.monotonic() < until:
    training.train(1)
intervals = [signal.setitimer(which, 0)[1] for which in range(3)]
print(intervals, [number > 3 for number in seen.values()])
names = [signal.getsignal(number) for number in signal.valid_signals() if number < 32]
print([getattr(name, "__name__", name) for name in names], signal.pthread_sigmask(0, []))
