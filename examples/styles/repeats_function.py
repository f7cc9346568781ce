# A compiled function over a dataset without any training.
# steps: 60
import tensorflow as tf

data = tf.data.Dataset.range(240).map(lambda i: tf.cast(i, tf.float32)).batch(4)


@tf.function
def double(batch):
    return tf.reduce_sum(batch * 2.0)


total = 0.0
for batch in data:  # <-- loop
    total += float(double(batch))
print(total)
