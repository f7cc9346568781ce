"""A script being edited: spans, verification, diff."""
