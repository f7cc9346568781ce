import tempfile

import keras
from keras import layers

from reef import clips


def motion_net():
    return keras.Sequential([
        layers.Input((clips.FRAMES, clips.SIDE, clips.SIDE, 1)),
        layers.Conv3D(8, (3, 5, 5), strides=(1, 2, 2), activation="relu"),
        layers.Conv3D(16, 3, strides=(2, 2, 2), activation="relu"),
        layers.Conv3D(32, 3, activation="relu"),
        layers.GlobalMaxPooling3D(),
        layers.Dense(4, activation="softmax"),
    ])


def main(n=1024, batch=16, epochs=2):
    keras.utils.set_random_seed(55)
    with tempfile.TemporaryDirectory(prefix="reef_") as folder:
        clips.record(folder, n)
        model = motion_net()
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(clips.dataset(folder, n, batch), epochs=epochs, verbose=2)


if __name__ == "__main__":
    main()
