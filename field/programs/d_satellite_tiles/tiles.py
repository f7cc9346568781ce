"""Land cover map of a large scene: runs the network tile by tile and stitches the result."""
import time

import numpy as np
import tensorflow as tf

TILE = 64
MARGIN = 8
CHANNELS = 4
CLASSES = 5


class LandCover(tf.Module):
    def __init__(self, widths=(16, 16, 24)):
        super().__init__()
        self.kernels = []
        previous = CHANNELS
        for width in (*widths, CLASSES):
            k = tf.random.stateless_normal([3, 3, previous, width], seed=[1, width], stddev=0.15)
            self.kernels.append(tf.Variable(k))
            previous = width

    @tf.function
    def classify(self, scene, row, col):
        tile = scene[row:row + TILE + 2 * MARGIN, col:col + TILE + 2 * MARGIN]
        mean, var = tf.nn.moments(tile, [0, 1])
        x = tf.expand_dims((tile - mean) * tf.math.rsqrt(var + 1e-4), 0)
        for i, kernel in enumerate(self.kernels):
            x = tf.nn.conv2d(x, kernel, 1, "SAME")
            if i < len(self.kernels) - 1:
                x = tf.nn.leaky_relu(x, 0.1)
        labels = tf.argmax(x[0], axis=-1, output_type=tf.int32)
        return labels[MARGIN:-MARGIN, MARGIN:-MARGIN]


def read_scene(side):
    rng = np.random.default_rng(14)
    return rng.gamma(2.0, 0.1, (side, side, CHANNELS)).astype(np.float32)


def map_scene(net, scene):
    side = scene.shape[0]
    padded = tf.pad(scene, [[MARGIN, MARGIN], [MARGIN, MARGIN], [0, 0]], "REFLECT")
    result = np.zeros((side, side), np.int32)
    for row in range(0, side, TILE):
        for col in range(0, side, TILE):
            result[row:row + TILE, col:col + TILE] = net.classify(padded, row, col)
    return result


if __name__ == "__main__":
    begin = time.perf_counter()
    cover = map_scene(LandCover(), read_scene(TILE * 12))
    share = np.bincount(cover.ravel(), minlength=CLASSES) / cover.size
    print("classes", np.round(share, 3), "in %.1f s" % (time.perf_counter() - begin))
