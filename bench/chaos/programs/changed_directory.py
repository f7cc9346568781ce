import os

from training import Training

training = Training()
os.mkdir("below")
os.chdir("below")
print(training.train(), os.listdir("."))
training.keep("here.bin")
os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
print(training.train(10))
os.chdir("/")
