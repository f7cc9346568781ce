# coding: utf-8
# In[1]:
import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
np.random.seed(0)

# In[2]:
LATENT = 12
EPOCHS = 8
BATCH = 128
ANNEAL_EVERY = 5
rows = np.random.rand(2048, 6).astype("float32") @ np.random.randn(6, 196).astype("float32")
images = 1.0 / (1.0 + np.exp(-rows)).reshape(-1, 14, 14, 1).astype("float32")
train_ds = (
    tf.data.Dataset.from_tensor_slices(images).shuffle(2048).batch(BATCH, drop_remainder=True)
)

# In[3]:
encoder = tf.keras.Sequential(
    [
        tf.keras.Input((14, 14, 1)),
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(2 * LATENT),
    ]
)
decoder = tf.keras.Sequential(
    [
        tf.keras.Input((LATENT,)),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(196),
        tf.keras.layers.Reshape((14, 14, 1)),
    ]
)
optimizer = tf.keras.optimizers.Adam(1e-3)
variables = encoder.trainable_variables + decoder.trainable_variables
optimizer.build(variables)


# In[4]:
@tf.function
def train_step(x, beta, capacity):
    with tf.GradientTape() as tape:
        mean, logvar = tf.split(encoder(x, training=True), 2, axis=1)
        z = mean + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mean))
        logits = decoder(z, training=True)
        rec = tf.reduce_mean(
            tf.reduce_sum(
                tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), axis=[1, 2, 3]
            )
        )
        kl = -0.5 * tf.reduce_mean(tf.reduce_sum(1 + logvar - mean**2 - tf.exp(logvar), axis=1))
        loss = rec + beta * tf.abs(kl - capacity)
    grads = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(grads, variables))
    return loss, rec, kl


# In[5]:
steps_per_epoch = len(images) // BATCH
total = EPOCHS * steps_per_epoch
step = 0
for epoch in range(EPOCHS):
    for x in train_ds:
        t = (step - step % ANNEAL_EVERY) / total
        beta = round(4.0 * min(1.0, 2 * t), 2)
        capacity = round(25.0 * t, 2)
        loss, rec, kl = train_step(x, beta, capacity)
        step += 1
    print(f"epoch {epoch}: loss {loss:.2f}  rec {rec:.2f}  kl {kl:.2f}  beta {beta}  C {capacity}")

# In[6]:
z = tf.random.normal((8, LATENT))
print("samples:", tf.nn.sigmoid(decoder(z)).numpy().mean(axis=(1, 2, 3)).round(3))
