import argparse
import tempfile

import keras
import tensorflow as tf
from keras import layers

from common import Job
from records import Reader, write


def network(job):
    x = photo = layers.Input((job.crop, job.crop, 3))
    for filters in (12, 16, 24, 32):
        y = x
        for rate in (1, 2, 1):
            y = layers.SeparableConv2D(filters, 3, dilation_rate=rate, padding="same", use_bias=False)(y)
            y = layers.BatchNormalization()(y)
            y = layers.Activation("swish")(y)
        x = layers.Add()([layers.Conv2D(filters, 1)(x), y])
        x = layers.AveragePooling2D(2)(x)
    return keras.Model(photo, layers.Dense(job.species)(layers.GlobalAveragePooling2D()(x)))


class Trainer:
    def __init__(self, job):
        self.job = job
        self.model = network(job)
        self.optimizer = keras.optimizers.AdamW(job.rate)
        self.loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.seen = keras.metrics.SparseCategoricalAccuracy()
        self.mean = keras.metrics.Mean()

    def update(self, photos, species):
        with tf.GradientTape() as tape:
            logits = self.model(photos, training=True)
            loss = self.loss(species, logits)
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        self.seen.update_state(species, logits)
        self.mean.update_state(loss)

    def epoch(self, data):
        self.seen.reset_state()
        self.mean.reset_state()
        for photos, species in data:
            self.update(photos, species)
        return float(self.mean.result()), float(self.seen.result())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=Job.epochs)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(folder, epochs=args.epochs)
        keras.utils.set_random_seed(job.seed)
        write(job)
        trainer, data = Trainer(job), Reader(job).dataset()
        for number in range(job.epochs):
            loss, right = trainer.epoch(data)
            print(f"epoch {number + 1}/{job.epochs} - loss: {loss:.4f} - accuracy: {right:.4f}")


if __name__ == "__main__":
    main()
