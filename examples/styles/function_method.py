# A `tf.function` method of a `tf.Module`.
# steps: 100
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([320, 8])
y = tf.random.normal([320, 1])


class Net(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.random.normal([8, 1]))
        self.b = tf.Variable(tf.zeros([1]))

    @tf.function
    def step(self, bx, by):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((bx @ self.w + self.b - by) ** 2)
        for variable, gradient in zip((self.w, self.b), tape.gradient(loss, (self.w, self.b))):
            variable.assign_sub(0.05 * gradient)
        return loss


net = Net()
for step in range(100):  # <-- loop
    loss = net.step(x[:32], y[:32])
print("loss", round(float(loss), 4))
