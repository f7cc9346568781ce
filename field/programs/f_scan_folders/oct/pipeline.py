import tensorflow as tf

from .storage import DIAGNOSES


class ScanPipeline:
    """Folder of scans -> batches of (scan, diagnosis)."""

    def __init__(self, root, side=64, batch=32, seed=0):
        self.root = root
        self.side = side
        self.batch = batch
        self.seed = seed

    def _listing(self):
        return tf.data.Dataset.list_files(f"{self.root}/*/*.png", shuffle=True, seed=self.seed)

    def _load(self, path):
        parts = tf.strings.split(path, "/")
        label = tf.argmax(parts[-2] == tf.constant(DIAGNOSES))
        return tf.io.read_file(path), label

    def _to_image(self, content, label):
        scan = tf.io.decode_png(content, channels=1)
        scan = tf.image.resize(scan, (self.side, self.side), antialias=True)
        return tf.image.per_image_standardization(scan), label

    @staticmethod
    def _augment(scans, labels):
        return tf.image.random_flip_left_right(scans), labels

    def training(self, size):
        ds = self._listing().map(self._load, num_parallel_calls=tf.data.AUTOTUNE)
        ds = ds.cache()
        ds = ds.map(self._to_image, num_parallel_calls=tf.data.AUTOTUNE)
        ds = ds.shuffle(size, seed=self.seed).batch(self.batch)
        return ds.map(self._augment).prefetch(tf.data.AUTOTUNE)
