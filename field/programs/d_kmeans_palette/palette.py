import sys
import numpy as np
import tensorflow as tf

# extract a palette of K colours from a picture with k-means

K = 8
MAX_ITER = 6
SIDE = 72


def fake_picture(side):
    rng = np.random.RandomState(0)
    blobs = rng.uniform(0, 1, (K, 3))
    which = rng.randint(0, K, (side, side))
    return np.clip(blobs[which] + rng.normal(0, 0.05, (side, side, 3)), 0, 1).astype(np.float32)


class KMeans:
    def __init__(self, k, max_iter):
        self.k = k
        self.max_iter = max_iter
        self.centers = None

    def _nearest(self, point):
        diff = self.centers - point
        dist = tf.reduce_sum(diff * diff, axis=1)
        return int(tf.argmin(dist))

    def assign(self, points):
        clusters = []
        for point in points:
            clusters.append(self._nearest(point))
        return np.array(clusters)

    def fit(self, points):
        points = tf.convert_to_tensor(points)
        seeds = np.random.RandomState(1).choice(points.shape[0], self.k, replace=False)
        self.centers = tf.gather(points, seeds)
        for it in range(self.max_iter):
            clusters = self.assign(points)
            new_centers = tf.math.unsorted_segment_mean(points, clusters, self.k)
            moved = float(tf.norm(new_centers - self.centers))
            self.centers = new_centers
            print("iteration %d: centers moved %.5f" % (it + 1, moved))
            if moved < 1e-6:
                break
        return self


if __name__ == "__main__":
    side = int(sys.argv[1]) if len(sys.argv) > 1 else SIDE
    pixels = fake_picture(side).reshape(-1, 3)
    km = KMeans(K, MAX_ITER).fit(pixels)
    for c in sorted(km.centers.numpy().tolist()):
        print("#%02x%02x%02x" % tuple(int(round(255 * v)) for v in np.clip(c, 0, 1)))
