import json
import tempfile
import wave
from pathlib import Path

import keras
import numpy as np
from keras import layers

from frames import Frames

HERE = Path(__file__).parent


def call(rng, kind, rate, n):
    t = np.arange(n) / rate
    start, bend = rng.uniform(150, 500), [0, 350, -90, 700][kind]
    chirp = np.sin(2 * np.pi * (start * t + bend * t**2 / 2)) * np.exp(-((t - 0.7) ** 2) / 0.15)
    if kind == 3:
        chirp *= np.sin(2 * np.pi * 9 * t) > 0
    return chirp + rng.normal(0, 0.5, n)


def record(folder, cfg):
    """Writes the clips as 16-bit files, as they come from the hydrophone."""
    rng = np.random.default_rng(12)
    paths, labels = [], rng.integers(0, 4, cfg["clips"])
    for i, kind in enumerate(labels):
        x = call(rng, kind, cfg["rate"], int(cfg["rate"] * cfg["seconds"]))
        path = str(Path(folder) / f"clip{i:04d}.wav")
        with wave.open(path, "wb") as f:
            f.setnchannels(1)
            f.setsampwidth(2)
            f.setframerate(cfg["rate"])
            f.writeframes((np.clip(x / 4, -1, 1) * 32767).astype("<i2").tobytes())
        paths.append(path)
    return np.array(paths), labels


def network(mels):
    model = keras.Sequential(
        [
            keras.Input((None, mels, 1)),
            layers.Conv2D(6, 5, strides=(2, 2), activation="relu"),
            layers.Conv2D(12, 3, strides=(2, 2), activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(4e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main():
    cfg = json.loads((HERE / "config.json").read_text())
    keras.utils.set_random_seed(12)
    with tempfile.TemporaryDirectory() as folder:
        paths, labels = record(folder, cfg)
        cut = int(0.8 * len(paths))
        frames = Frames(cfg)
        train = frames.dataset(paths[:cut], labels[:cut], training=True)
        test = frames.dataset(paths[cut:], labels[cut:], training=False)
        model = network(cfg["mels"])
        model.fit(train, validation_data=test, epochs=cfg["epochs"], verbose=2)


if __name__ == "__main__":
    main()
