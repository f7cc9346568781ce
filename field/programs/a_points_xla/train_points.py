import numpy as np
import tensorflow as tf

NUM_CLASSES = 8
STEPS = 12
CLOUDS = 16


def cloud_batch(rng):
    """Scans have as many points as the scanner saw, the batch is cut to the smallest."""
    n = int(rng.integers(180, 420))
    label = rng.integers(0, NUM_CLASSES, CLOUDS)
    pts = rng.normal(size=(CLOUDS, n, 3)).astype(np.float32)
    pts[..., 0] *= 1.0 + label[:, None] * 0.2
    return tf.constant(pts), tf.constant(label, tf.int32)


class PointNet(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.shared = [tf.keras.layers.Dense(n, activation="relu") for n in (32, 96)]
        self.head = tf.keras.layers.Dense(NUM_CLASSES)

    def call(self, pts):
        h = pts
        for layer in self.shared:
            h = layer(h)
        pooled = tf.concat([tf.reduce_max(h, axis=1), tf.reduce_mean(h, axis=1)], axis=-1)
        return self.head(pooled)


net = PointNet()
net(tf.zeros((1, 16, 3)))
opt = tf.keras.optimizers.SGD(0.02, momentum=0.9)
opt.build(net.trainable_variables)


@tf.function(jit_compile=True, input_signature=[
    tf.TensorSpec([CLOUDS, None, 3], tf.float32), tf.TensorSpec([CLOUDS], tf.int32)])
def train_step(pts, label):
    with tf.GradientTape() as tape:
        logits = net(pts)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss


rng = np.random.default_rng(0)
for i in range(STEPS):
    pts, label = cloud_batch(rng)
    loss = train_step(pts, label)
    if i % 4 == 0:
        print(f"step {i:3d}  points {pts.shape[1]}  loss {loss.numpy():.4f}")
