"""Real jobs of several processes on this machine, each with one fault, and what unslow says."""
