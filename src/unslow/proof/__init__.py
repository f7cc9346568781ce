"""Running both versions: launching, throw-away copies, trials, verdicts, what-if."""
