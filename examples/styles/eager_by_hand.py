# Linear regression with the update written by hand.
# steps: 60
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([320, 1])
y = 3.0 * x + 2.0
w = tf.Variable(0.0)
b = tf.Variable(0.0)
for step in range(60):  # <-- loop
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((w * x + b - y) ** 2)
    slope, shift = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * slope)
    b.assign_sub(0.1 * shift)
print("w", round(float(w), 3), "b", round(float(b), 3))
