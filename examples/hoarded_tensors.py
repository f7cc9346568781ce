# A training that keeps every step's gradients "for later" and so fills the memory.
# expect: hoarded-tensors
# steps: 1200
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([512, 128])
y = tf.random.normal([512, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(64).repeat(150)
model = tf.keras.Sequential([tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)


class Trainer:
    def __init__(self):
        self.losses = []
        self.history = []

    @tf.function
    def step(self, bx, by):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(bx) - by) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss, gradients

    def train(self):
        for bx, by in data:
            loss, gradients = self.step(bx, by)
            self.losses.append(float(loss))
            self.history.append(gradients)  # <-- hoarded-tensors
        return self.losses[-1]


print("loss", round(Trainer().train(), 3))
