"""Two-phase fine-tuning: first the new head on a frozen body, then everything with a small rate."""
import math

import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model, Sequential, layers
from tensorflow.keras.callbacks import Callback, LambdaCallback, LearningRateScheduler
from tensorflow.keras.optimizers import Adam

tf.keras.utils.set_random_seed(99)
rng = np.random.RandomState(99)

N, SIZE = 1024, 40
labels = rng.randint(0, 3, N)
photos = rng.rand(N, SIZE, SIZE, 3).astype('float32') * 0.5
for i, c in enumerate(labels):
    photos[i, 6 * c:6 * c + 12, :, c] += 0.3 * rng.rand()


def body():
    m = Sequential(name='body')
    m.add(Input((SIZE, SIZE, 3)))
    for f in (32, 64, 96):
        m.add(layers.Conv2D(f, 3, padding='same'))
        m.add(layers.BatchNormalization())
        m.add(layers.Activation('relu'))
        m.add(layers.MaxPooling2D())
    return m


def cosine(epoch, lr):
    return 0.5 * 1e-3 * (1 + math.cos(math.pi * epoch / 4)) + 1e-5


class BatchLog(Callback):
    def __init__(self):
        super().__init__()
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        self.rows.append((batch, logs['loss'], logs['accuracy']))


backbone = body()
inputs = Input((SIZE, SIZE, 3))
h = backbone(inputs)
h = layers.GlobalAveragePooling2D()(h)
outputs = layers.Dense(3, activation='softmax')(layers.Dropout(0.2)(h))
net = Model(inputs, outputs)

history = BatchLog()
tell = LambdaCallback(on_epoch_end=lambda e, logs: print('  epoch', e + 1, {k: round(v, 4) for k, v in logs.items()}))

print('phase 1: head only')
backbone.trainable = False
net.compile(Adam(3e-3), 'sparse_categorical_crossentropy', metrics=['accuracy'])
net.fit(photos, labels, batch_size=64, epochs=1, verbose=0, callbacks=[history, tell])

print('phase 2: all layers')
backbone.trainable = True
net.compile(Adam(1e-3), 'sparse_categorical_crossentropy', metrics=['accuracy'])
net.fit(photos, labels, batch_size=64, epochs=4, verbose=0,
        callbacks=[LearningRateScheduler(cosine), history, tell])

print('batches logged', len(history.rows), 'best batch loss', round(min(r[1] for r in history.rows), 4))
