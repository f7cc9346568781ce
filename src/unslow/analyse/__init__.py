"""From what was recorded to a Run: assembling steps, and statistics as pure functions."""
