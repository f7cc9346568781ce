"""Keras's own loops: fit, evaluate, predict and callbacks; Keras 2 and 3."""
