"""Running both versions: launching, temporary copies, trials, verdicts, what-if."""
