"""Train a small triage model for support calls, then write the quality report batch by batch."""
from collections import Counter

import numpy as np
import tensorflow as tf

SPEC = dict(calls=9000, fields=36, queues=6, batch=60, train_share=0.4, epochs=1)


def calls(spec):
    rng = np.random.default_rng(90)
    w = rng.normal(0, 1, (spec["fields"], spec["queues"]))
    x = rng.normal(0, 1, (spec["calls"], spec["fields"])).astype(np.float32)
    y = (x @ w + rng.gumbel(0, 1.5, (spec["calls"], spec["queues"]))).argmax(axis=1)
    return x, y


def enrich(x, y):
    x = tf.concat([x, tf.square(x), tf.sin(x)], axis=-1)
    return tf.clip_by_value(x, -4.0, 4.0), y


class QualityReport:
    def __init__(self, model, data, queues):
        self.model, self.data, self.queues = model, data, queues
        self.confusion = Counter()
        self.brier = []

    def batch(self, i):
        for x, y in self.data.skip(i).take(1):
            return x, y

    def collect(self):
        for i in range(len(self.data)):
            x, y = self.batch(i)
            p = tf.nn.softmax(self.model.predict_on_batch(x))
            for row in range(len(y)):
                guess = tf.argmax(p[row])
                self.confusion[int(y[row]), int(guess)] += 1
                self.brier.append(float(tf.reduce_sum(tf.square(p[row] - tf.one_hot(y[row], self.queues)))))

    def show(self):
        for q in range(self.queues):
            row = [self.confusion[q, g] for g in range(self.queues)]
            print("queue %d  recall %.3f  %s" % (q, row[q] / max(sum(row), 1), row))
        print("brier %.4f over %d calls" % (np.mean(self.brier), len(self.brier)))


def main():
    tf.keras.utils.set_random_seed(1)
    x, y = calls(SPEC)
    cut = int(SPEC["calls"] * SPEC["train_share"])
    train = tf.data.Dataset.from_tensor_slices((x[:cut], y[:cut])).shuffle(cut).map(enrich).batch(SPEC["batch"])
    test = tf.data.Dataset.from_tensor_slices((x[cut:], y[cut:])).map(enrich).batch(SPEC["batch"])
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(SPEC["queues"])])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(train, epochs=SPEC["epochs"], verbose=2)
    report = QualityReport(model, test, SPEC["queues"])
    report.collect()
    report.show()


if __name__ == "__main__":
    main()
