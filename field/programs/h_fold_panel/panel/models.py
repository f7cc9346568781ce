import os

import tensorflow as tf


def make_member(features, seed):
    tf.keras.utils.set_random_seed(seed)
    inputs = tf.keras.Input((features,))
    x = inputs
    for units in (96, 96, 64, 64, 32):
        x = tf.keras.layers.Dense(units)(x)
        x = tf.keras.layers.BatchNormalization()(x)
        x = tf.keras.layers.Activation("gelu")(x)
    outputs = tf.keras.layers.Dense(1, activation="sigmoid")(x)
    return tf.keras.Model(inputs, outputs, name="member_%d" % seed)


def export_members(folder, features, folds):
    paths = []
    for fold in range(folds):
        path = os.path.join(folder, "fold%d.keras" % fold)
        make_member(features, 100 + fold).save(path)
        paths.append(path)
    return paths
