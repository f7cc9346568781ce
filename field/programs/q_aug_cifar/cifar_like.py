import math
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, models, callbacks

BATCH_SIZE = 64
EPOCHS = 3
N_TRAIN, N_TEST = 2560, 512


def fake_cifar(n, seed):
    r = np.random.RandomState(seed)
    y = r.randint(0, 10, n)
    yy, xx = np.mgrid[0:32, 0:32] / 32.0
    base = np.sin(2 * math.pi * ((y[:, None, None] % 5 + 1) * xx + (y[:, None, None] // 5 * 3) * yy))
    x = 128 + 60 * base[..., None] + 40 * r.randn(n, 32, 32, 3)
    return np.clip(x, 0, 255).astype('uint8'), y.astype('int32')


def cutout(img, size=8):
    r = tf.random.uniform([2], 0, 32 - size, tf.int32)
    pad = [[r[0], 32 - size - r[0]], [r[1], 32 - size - r[1]], [0, 0]]
    return img * (1.0 - tf.pad(tf.ones((size, size, 3)), pad))


def augment(img, label):
    img = tf.cast(img, tf.float32) / 255.
    img = tf.image.resize_with_crop_or_pad(img, 40, 40)
    img = tf.image.random_crop(img, (32, 32, 3))
    img = tf.image.random_flip_left_right(img)
    img = tf.image.random_brightness(img, 0.2)
    img = tf.image.random_contrast(img, 0.8, 1.2)
    img = tf.image.random_saturation(img, 0.8, 1.2)
    img = cutout(img)
    return img, label


def conv_bn(x, f, s=1):
    x = layers.Conv2D(f, 3, strides=s, padding='same', use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(x)


def make_model():
    i = layers.Input((32, 32, 3))
    x = conv_bn(i, 32)
    for f, s in [(32, 1), (64, 2), (64, 1), (128, 2), (128, 1)]:
        x = conv_bn(x, f, s)
    x = layers.GlobalAveragePooling2D()(x)
    return models.Model(i, layers.Dense(10)(x))


(x_train, y_train), (x_test, y_test) = fake_cifar(N_TRAIN, 0), fake_cifar(N_TEST, 1)

train_ds = (tf.data.Dataset.from_tensor_slices((x_train, y_train))
            .shuffle(N_TRAIN)
            .map(augment, num_parallel_calls=tf.data.AUTOTUNE)
            .batch(BATCH_SIZE)
            .prefetch(tf.data.AUTOTUNE))
test_ds = (tf.data.Dataset.from_tensor_slices((x_test, y_test))
           .map(lambda a, b: (tf.cast(a, tf.float32) / 255., b))
           .batch(128).cache().prefetch(1))

tf.keras.utils.set_random_seed(0)
model = make_model()
model.compile(optimizer=tf.keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
              loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=['sparse_categorical_accuracy'])
t0 = time.time()
model.fit(train_ds, epochs=EPOCHS, validation_data=test_ds, verbose=2,
          callbacks=[callbacks.ModelCheckpoint('best.weights.h5', save_best_only=True, save_weights_only=True,
                                               monitor='val_loss'),
                     callbacks.ReduceLROnPlateau(monitor='val_loss', patience=2)])
print('trained for %.1f s, %d iterations' % (time.time() - t0, model.optimizer.iterations.numpy()))
