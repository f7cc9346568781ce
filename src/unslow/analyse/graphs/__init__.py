"""Traces, calls, sessions and eager steps, read back from a run."""
