# A GAN in one eager body with two tapes.
# steps: 20
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
generator = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(4)])
critic = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
g_optimizer = tf.keras.optimizers.SGD(0.001)
d_optimizer = tf.keras.optimizers.SGD(0.001)
for step in range(20):  # <-- loop
    with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
        fake = generator(tf.random.normal([32, 2]))
        score = tf.reduce_mean(critic(fake))
        d_loss = score - tf.reduce_mean(critic(tf.random.normal([32, 4])))
        g_loss = -score
    g_gradients = g_tape.gradient(g_loss, generator.trainable_variables)
    d_gradients = d_tape.gradient(d_loss, critic.trainable_variables)
    g_optimizer.apply_gradients(zip(g_gradients, generator.trainable_variables))
    d_optimizer.apply_gradients(zip(d_gradients, critic.trainable_variables))
print("done")
