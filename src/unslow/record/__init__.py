"""What lives in the user's process: standard library only, never raises, restores what it wrapped."""
