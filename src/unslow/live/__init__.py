"""Watching a run while it runs: nothing but the files of its folder is read, and nothing in it is written."""
