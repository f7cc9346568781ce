"""What `prove` and `whatif` ask of a recorded process."""
