# ruff: noqa
# expect: nothing

import tensorflow as tf

count = 0


def loop(model, opt, data, n):
    global count
    store = [tf.Variable(tf.zeros_like(v)) for v in model.trainable_variables]
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(x) - y))
        for slot, g in zip(store, tape.gradient(loss, model.trainable_variables)):
            slot.assign_add(g)
        count += 1
        if count % n == 0:
            opt.apply_gradients(zip(store, model.trainable_variables))
            for slot in store:
                slot.assign(tf.zeros_like(slot))
