"""Hand-made runs for tests and cause pages."""
