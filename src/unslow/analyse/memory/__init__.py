"""Who holds memory, and what grows."""
