# expect: nothing
# steps: 308
"""One compiled function for training and for validation: two modes, and a last partial batch in each."""

import tensorflow as tf

tf.random.set_seed(1)
features = tf.random.normal([1000, 16])
targets = tf.reduce_sum(features, axis=1, keepdims=True)
train_data = tf.data.Dataset.from_tensor_slices((features[:840], targets[:840])).batch(64)
valid_data = tf.data.Dataset.from_tensor_slices((features[840:], targets[840:])).batch(100)
hidden = tf.Variable(tf.random.normal([16, 64], stddev=0.2))
output = tf.Variable(tf.random.normal([64, 1], stddev=0.2))


@tf.function
def run(batch, wanted, training):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.nn.relu(batch @ hidden) @ output - wanted))
    if training:
        for weight, gradient in zip((hidden, output), tape.gradient(loss, (hidden, output))):
            weight.assign_sub(0.01 * gradient)
    return loss


train_data, valid_data = train_data.prefetch(2), valid_data.prefetch(2)
for epoch in range(22):
    for batch, wanted in train_data:
        run(batch, wanted, True)
    losses = [run(batch, wanted, False) for batch, wanted in valid_data]
print(f"loss {losses[-1].numpy():.4f}")
