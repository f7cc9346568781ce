# mask: (?m)^.*(?:AutoGraph could not be|Entity <).*$
import tensorflow as tf
from training import Training

tf.autograph.set_verbosity(2, alsologtostdout=True)


@tf.function
def looped(limit):
    total = tf.constant(0)
    for number in tf.data.Dataset.range(5):
        if number % 2 == 0:
            total += tf.cast(number, tf.int32)
        with tf.GradientTape() as tape:
            tape.watch(limit)
        tf.print(total)
    return total


print(looped(tf.constant(3.0)).numpy())
training = Training()
print(training.train(10))
training.keep()
