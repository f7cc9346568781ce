"""From a run folder to a Run: processes, clocks, steps, loops, samples."""
