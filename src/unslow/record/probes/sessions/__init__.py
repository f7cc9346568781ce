"""TF1-style sessions and their graphs."""
