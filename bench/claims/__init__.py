"""What five documents of advice on slow TensorFlow trainings claim, put to the test on today's TensorFlow."""
