# An agent that collects before it learns: what it repeats before the first update is no step of the training.
# steps: 50
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
weights = tf.Variable(tf.zeros([4, 2]))


@tf.function
def act(state):
    return tf.argmax(state @ weights, axis=1)


@tf.function
def learn(state):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(state @ weights - 1.0))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))


for _ in range(40):
    act(tf.ones([1, 4]))
for _ in range(50):  # <-- loop
    act(tf.ones([1, 4]))
    learn(tf.ones([8, 4]))
print(weights.numpy().sum())
