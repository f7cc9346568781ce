"""Every thread makes functions of its own: their first calls are what is inspected most."""

import sys
import threading

import tensorflow as tf
from training import Training

COUNT = 12


def work(number):
    for turn in range(COUNT):
        training = Training(number)
        training.step = named(training.one_step, f"step_{number}_{turn}")
        training.train(15)
    training.keep(f"thread{number}.bin")


def named(function, name):
    def step():
        return function()

    step.__name__ = name
    return tf.function(step)


sys.setswitchinterval(1e-4)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
print("stderr is still there", file=sys.stderr)
