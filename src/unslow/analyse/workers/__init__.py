"""Jobs of many workers: who waits for whom, for how long, and why."""
