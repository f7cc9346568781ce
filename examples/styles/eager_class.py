# An eager step as a method of a trainer class.
# steps: 50
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([320, 8])
y = tf.random.normal([320, 1])
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.loss = tf.keras.losses.MeanSquaredError()

    def step(self, bx, by):
        with tf.GradientTape() as tape:
            loss = self.loss(by, self.model(bx, training=True))
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    def train(self, data, epochs):
        for epoch in range(epochs):
            for batch in data:  # <-- loop
                loss = self.step(*batch)
        return loss


print("loss", round(float(Trainer(model, optimizer).train(data, 5)), 4))
