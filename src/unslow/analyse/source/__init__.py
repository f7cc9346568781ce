"""What the user's source text shows without running it."""
