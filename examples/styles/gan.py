# A GAN: two optimizers, two compiled functions, one step.
# steps: 40
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
real = tf.random.normal([320, 4])
generator = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(4)])
critic = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
g_optimizer = tf.keras.optimizers.Adam(0.001)
d_optimizer = tf.keras.optimizers.Adam(0.001)
cross = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_critic(batch):
    fake = generator(tf.random.normal([32, 2]))
    with tf.GradientTape() as tape:
        loss = cross(tf.ones([32, 1]), critic(batch)) + cross(tf.zeros([32, 1]), critic(fake))
    weights = critic.trainable_variables
    d_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


@tf.function
def train_generator():
    with tf.GradientTape() as tape:
        loss = cross(tf.ones([32, 1]), critic(generator(tf.random.normal([32, 2]))))
    weights = generator.trainable_variables
    g_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for epoch in range(4):
    for batch in tf.data.Dataset.from_tensor_slices(real).batch(32):  # <-- loop
        d_loss = train_critic(batch)
        g_loss = train_generator()
print("done")
