"""Measures what it costs a training to be attached to."""
