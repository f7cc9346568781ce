"""From recordings on disk to batches of log-mel pictures."""
import tensorflow as tf


class Frames:
    def __init__(self, cfg):
        self.cfg = cfg
        self.samples = int(cfg["rate"] * cfg["seconds"])
        self.mel = tf.signal.linear_to_mel_weight_matrix(
            cfg["mels"], cfg["frame"] // 2 + 1, cfg["rate"], 40.0, cfg["rate"] / 2 - 50
        )

    def read(self, path, label):
        wave, _ = tf.audio.decode_wav(tf.io.read_file(path), 1, self.samples)
        return wave[:, 0], label

    def picture(self, wave, label):
        wave -= tf.reduce_mean(wave)
        spectrum = tf.abs(tf.signal.stft(wave, self.cfg["frame"], self.cfg["hop"], pad_end=True))
        mel = tf.math.log(tf.tensordot(spectrum, self.mel, 1) + 1e-3)
        centre, spread = tf.nn.moments(mel, [0, 1])
        return ((mel - centre) / tf.sqrt(spread))[..., None], label

    def mask(self, mel, label):
        """Hides a random band of frequencies."""
        start = tf.random.uniform((), 0, self.cfg["mels"] - 6, tf.int32)
        band = tf.range(self.cfg["mels"])
        keep = tf.cast((band < start) | (band >= start + 6), tf.float32)
        return mel * keep[None, :, None], label

    def dataset(self, paths, labels, training):
        ds = tf.data.Dataset.from_tensor_slices((paths, labels))
        stages = [("clips", self.read), ("pictures", self.picture)]
        for name, stage in stages:
            ds = ds.map(stage, num_parallel_calls=self.cfg["readers"])
            if self.cfg["keep"] == name:
                ds = ds.cache()
        if training:
            ds = ds.shuffle(len(paths), seed=1).map(self.mask)
        return ds.batch(self.cfg["batch"])
