import tempfile

import tensorflow as tf

from birds import audio


def dataset(files, labels, batch):
    ds = tf.data.Dataset.from_tensor_slices((files, labels))
    ds = ds.map(audio.spectrogram, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.cache()
    ds = ds.shuffle(len(files))
    ds = ds.batch(batch, drop_remainder=True)
    ds = ds.map(audio.jitter)
    return ds.prefetch(tf.data.AUTOTUNE)


def main():
    tf.keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        files, labels = audio.record(folder, 320)
        ds = dataset(files, labels, 32)
        model = tf.keras.Sequential([
            tf.keras.Input((61, 129, 1)),
            tf.keras.layers.Conv2D(24, 5, padding="same", activation="relu"),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Conv2D(48, 3, padding="same", activation="relu"),
            tf.keras.layers.GlobalMaxPooling2D(),
            tf.keras.layers.Dense(len(audio.SPECIES)),
        ])
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile("adam", loss, metrics=["accuracy"])
        model.fit(ds, epochs=3, verbose=2)


if __name__ == "__main__":
    main()
