import os
import resource

from training import Training

training = Training()
training.train(20)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
files = []
try:
    while True:
        files.append(open(os.devnull))
except OSError as error:
    print(error.errno)
print(training.train(50))
for file in files:
    file.close()
training.keep()
