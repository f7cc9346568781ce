import numpy as np
import tensorflow as tf

tf.random.set_seed(2)
rng = np.random.default_rng(2)

N, T, C = 1024, 40, 6
signals = rng.normal(size=(N, T, C)).astype("float32").cumsum(axis=1)
target = signals[:, -5:, 0].mean(axis=1, keepdims=True)

inputs = tf.keras.Input((T, C))
h = tf.keras.layers.Conv1D(32, 5, activation="relu")(inputs)
h = tf.keras.layers.Conv1D(32, 5, activation="relu")(h)
h = tf.keras.layers.GlobalAveragePooling1D()(h)
h = tf.keras.layers.Dense(32, activation="relu")(h)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(h))
model.summary()

epochs = 8
start_lr, decay = 3e-3, 0.8
val = (signals[:128], target[:128])
best = float("inf")

for epoch in range(epochs):
    lr = start_lr * decay**epoch
    model.compile(optimizer=tf.keras.optimizers.Adam(lr), loss="mse", metrics=["mae"])
    h = model.fit(signals[128:], target[128:], batch_size=64, validation_data=val, verbose=0)
    v = h.history["val_loss"][0]
    best = min(best, v)
    print("epoch %d lr %.5f val %.4f best %.4f" % (epoch, lr, v, best))
