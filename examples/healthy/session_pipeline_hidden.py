# expect: nothing
# steps: 150
"""A TensorFlow 1 graph whose serial pipeline keeps ahead of the step: its batches lie ready when they are asked for."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)

rng = np.random.RandomState(0)
images = rng.normal(size=(256, 20, 20, 3)).astype(np.float32)
labels = rng.randint(0, 10, size=256)


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    return image + tf.random.normal([20, 20, 3], stddev=0.01), label


dataset = tf.data.Dataset.from_tensor_slices((images, labels))
dataset = dataset.shuffle(256).repeat().map(augment).batch(16).prefetch(2)
iterator = tf.data.make_initializable_iterator(dataset)
inputs, targets = iterator.get_next()

net = inputs
for layer in range(3):
    kernel = tf.get_variable("kernel%d" % layer, [3, 3, int(net.shape[-1]), 64])
    net = tf.nn.relu(tf.nn.conv2d(net, kernel, 1, "SAME"))
logits = tf.matmul(tf.reduce_mean(net, axis=[1, 2]), tf.get_variable("top", [64, 10]))
loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

with tf.Session() as session:
    session.run([tf.global_variables_initializer(), iterator.initializer])
    for step in range(150):
        session.run(train)
    print("loss", session.run(loss))
