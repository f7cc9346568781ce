"""The same script, unedited, under other settings: the measured gain of each."""
