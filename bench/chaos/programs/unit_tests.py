# run: {python} -m unittest -v unit_tests
# mask: in \d+\.\d+s
import threading
import unittest

import tensorflow as tf
from training import Training, fit, keras_model


class Tests(unittest.TestCase):
    def setUp(self):
        self.threads = set(threading.enumerate())

    def tearDown(self):
        self.assertEqual(self.threads, set(threading.enumerate()))

    def test_it_learns(self):
        training = Training()
        self.assertLess(training.train(), training.train(1) + 1)
        training.keep()

    def test_it_warns(self):
        with self.assertWarns(UserWarning):
            tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])

    def test_it_fits(self):
        with self.assertNoLogs():
            fit(keras_model())

    @unittest.expectedFailure
    def test_it_fails(self):
        self.fail("as it should")


class OfTensorFlow(tf.test.TestCase):
    def test_equal(self):
        self.assertAllClose(Training().y, Training().y)
