"""Answers image scoring requests one at a time, in the order in which the queue hands them out."""
import os
import queue
import tempfile
import threading
import time

import numpy as np
import tensorflow as tf

SIDE = 160


def export_model(path):
    tf.keras.utils.set_random_seed(1)
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.Input((SIDE, SIDE, 3)),
        layers.Rescaling(1 / 255),
        layers.Conv2D(32, 3, activation="relu"),
        layers.Conv2D(48, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(2, activation="softmax"),
    ])
    model.export(path, verbose=False)


def camera(requests, n):
    rng = np.random.default_rng(0)
    for i in range(n):
        requests.put((i, rng.integers(0, 256, (1, SIDE, SIDE, 3)).astype(np.float32)))
    requests.put(None)


def main(n=260):
    path = os.path.join(tempfile.mkdtemp(prefix="scorer_"), "model")
    export_model(path)
    serve = tf.saved_model.load(path).signatures["serving_default"]
    name = list(serve.structured_outputs)[0]
    serve(tf.zeros([1, SIDE, SIDE, 3]))  # warm up

    requests = queue.Queue(maxsize=1)
    threading.Thread(target=camera, args=(requests, n), daemon=True).start()
    latencies, flagged = [], 0
    while True:
        item = requests.get()
        if item is None:
            break
        begin = time.perf_counter()
        number, picture = item
        score = float(serve(tf.constant(picture))[name][0, 1])
        flagged += score > 0.5
        latencies.append(time.perf_counter() - begin)
    print(f"{n} requests, {flagged} flagged, median {1000 * np.median(latencies):.1f} ms, "
          f"p95 {1000 * np.quantile(latencies, 0.95):.1f} ms")


if __name__ == "__main__":
    main()
