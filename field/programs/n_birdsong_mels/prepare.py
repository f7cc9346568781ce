import os, sys, tempfile, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
from pathlib import Path

import numpy as np
import tensorflow as tf

from recorder import FieldRecorder

RATE = 16000
FRAME, HOP, FFT = 2048, 128, 4096
MELS = 80
BATCH = 8
CLIPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1120

MEL = tf.signal.linear_to_mel_weight_matrix(MELS, FFT // 2 + 1, RATE, 80.0, 7600.0)


def to_mel(wave, label):
    spec = tf.signal.stft(wave, FRAME, HOP, FFT)
    power = tf.square(tf.abs(spec))
    mel = tf.math.log(tf.tensordot(power, MEL, 1) + 1e-6)
    # per-channel normalisation over time
    mean, var = tf.nn.moments(mel, axes=[1], keepdims=True)
    mel = (mel - mean) * tf.math.rsqrt(var + 1e-5)
    return tf.cast(mel, tf.float16), label


def pipeline(recorder):
    ds = tf.data.Dataset.from_generator(
        recorder,
        output_signature=(tf.TensorSpec((recorder.samples,), tf.float32), tf.TensorSpec((), tf.int32)))
    ds = ds.batch(BATCH).map(to_mel, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.prefetch(2)


def example(mel, label):
    feature = {
        "mel": tf.train.Feature(bytes_list=tf.train.BytesList(value=[mel.tobytes()])),
        "frames": tf.train.Feature(int64_list=tf.train.Int64List(value=[mel.shape[0]])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def main():
    recorder = FieldRecorder(CLIPS, RATE)
    counts = np.zeros(recorder.species, int)
    level = []
    with tempfile.TemporaryDirectory(prefix="mels_") as folder:
        paths = [str(Path(folder) / f"mels-{i}.tfrecord") for i in range(4)]
        writers = [tf.io.TFRecordWriter(p) for p in paths]
        t0 = time.time()
        n = 0
        for mels, labels in pipeline(recorder).as_numpy_iterator():
            for mel, label in zip(mels, labels):
                writers[n % 4].write(example(mel, label))
                counts[label] += 1
                level.append(float(mel[0].mean()))
                n += 1
            if n % 160 == 0:
                print(f"{n:5d} clips  {mels.shape[1]} frames  {n / (time.time() - t0):.0f} clips/s")
        for w in writers:
            w.close()
        size = sum(os.path.getsize(p) for p in paths) / 1e6
    print("clips per species:", counts.tolist())
    print(f"written {size:.1f} MB, first-frame level {np.mean(level):.4f} +- {np.std(level):.4f}")


main()
