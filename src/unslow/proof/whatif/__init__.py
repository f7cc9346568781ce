"""The same script, unedited, under other settings: what each one brings, measured."""
