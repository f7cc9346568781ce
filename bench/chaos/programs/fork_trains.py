import os
import sys

from training import Training

training = Training()
print(training.train())
training.keep()
sys.stdout.flush()
child = os.fork()
if child == 0:
    for _ in range(10):
        training.one_step()
    training.keep("child.bin")
    print("child", float(training.one_step()))
    sys.stdout.flush()
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(training.train(5))
