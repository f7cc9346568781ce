# ruff: noqa
# expect: symbolic-feed 20

import tensorflow as tf

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    image = v1.placeholder(tf.float32)
    label = v1.placeholder(tf.int32)
    loss = tf.reduce_sum(image) + tf.cast(label, tf.float32)
    source = tf.data.Dataset.from_tensors((1.0, 2)).repeat()
    iterator = v1.data.make_initializable_iterator(source)
    pixels, kind = iterator.get_next()
    session = v1.Session()
    session.run(iterator.initializer)
    session.run(
        loss,
        {
            image: pixels,
            label: kind,
        },
    )
