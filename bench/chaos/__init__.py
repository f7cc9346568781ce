"""Attacks what is there: what was tried, how many times, what was lost, what broke."""
