"""How far a guess is off."""

import tensorflow as tf


def distance(guess, wanted):
    return tf.reduce_mean(tf.square(guess - wanted))
