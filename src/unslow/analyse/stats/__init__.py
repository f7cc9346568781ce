"""Robust statistics, change points, growth laws and periodicity; pure functions of arrays."""
