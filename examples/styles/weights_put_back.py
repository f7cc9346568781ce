# Weights that are set anew between trainings and averaged with older ones: assigned, but not trained.
# steps: 40, 30
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal([64, 8])
y = tf.reduce_sum(x, axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
first = model.get_weights()
for fold in range(5):
    model.set_weights(first)
    model.fit(x, y, batch_size=16, epochs=2, verbose=0)  # <-- loop
    for variable, value in zip(model.trainable_variables, first):
        variable.assign((variable + value) / 2)

weights = tf.Variable(tf.zeros([8, 1]))
for turn in range(6):
    before = tf.identity(weights)
    for step in range(5):  # <-- loop
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ weights - y) ** 2)
        tf.keras.optimizers.SGD(0.1).apply_gradients([(tape.gradient(loss, weights), weights)])
    weights.assign(before + 0.5 * (weights - before))
print("loss", round(float(loss), 3))
