import atexit

from training import Training

training = Training()
atexit.register(print, "once")
print(training.train())
atexit._run_exitfuncs()
print(training.train(300))
atexit.register(print, "never")
atexit._clear()
training.keep()
