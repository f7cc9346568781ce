# mask: \d{4}(_\d\d){5}
# ignore: profile
import tensorflow as tf
from training import Training, train

tf.profiler.experimental.start("profile")
training = Training(3)
for number in range(60):
    with tf.profiler.experimental.Trace("step", step_num=number, _r=1):
        training.step()
tf.profiler.experimental.stop()
print(train(200))
with tf.profiler.experimental.Profile("profile"):
    print(train(30, "again.bin"))
try:
    tf.profiler.experimental.stop()
except Exception as error:
    print(type(error).__name__)
