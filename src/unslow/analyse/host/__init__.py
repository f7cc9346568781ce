"""The host's share of a run: Python lines, files, the machine, profiler windows."""
