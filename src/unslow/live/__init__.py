"""Watching a run while it runs: reads only the files of its folder, and writes none."""
