"""Eager steps: gradients, updates, single ops, values fetched to the host."""
