# expect: eager-step
# steps: 150
"""Everything in the body of the loop, nothing compiled."""

import tensorflow as tf

tf.keras.utils.set_random_seed(1)
features = tf.random.normal([2048, 16])
labels = tf.cast(tf.reduce_sum(features, axis=1) > 0, tf.int32)
data = tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(2048).batch(64).repeat()

model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(2)])
model.build([None, 16])
optimizer = tf.keras.optimizers.Adam(0.01)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

for step, (batch, wanted) in enumerate(data.take(150)):
    with tf.GradientTape() as tape:  # <-- eager-step
        logits = model(batch, training=True)
        loss = loss_of(wanted, logits)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if step % 50 == 0:
        print(f"step {step} loss {float(loss):.4f}")
