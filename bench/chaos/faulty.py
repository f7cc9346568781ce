"""A training of short steps that counts them in a file of its own, for faults to be done to.

python faulty.py STEPS     counts into `count` beside it; prints "done" at its end
"""

import mmap
import os
import struct
import sys
import time

import tensorflow as tf

w = tf.Variable(1.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = (w * x) ** 2
    w.assign_sub(0.0001 * tape.gradient(loss, w))
    return loss


began, furthest = time.time(), 0.0
file = os.open("count", os.O_CREAT | os.O_RDWR)
os.ftruncate(file, 16)
# Survives a kill: number of steps, and the nanoseconds of the last one.
shared = mmap.mmap(file, 16)
x = tf.constant(1.0)
for number in range(int(sys.argv[1])):
    step(x)
    off = time.time() - began
    furthest = off if abs(off) > abs(furthest) else furthest
    shared[:] = struct.pack("qq", number + 1, time.monotonic_ns())
    time.sleep(float(os.environ.get("PAUSE", "0.005")))
    if number == 3:
        print("training", flush=True)
    if os.environ.get("FAULT") and number == int(os.environ["AT"]):
        exec(os.environ["FAULT"])
if "STEPPED_CLOCK" in os.environ:
    print("wall", round(furthest))
print("done")
