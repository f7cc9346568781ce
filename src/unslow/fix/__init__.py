"""Writing the fix: a script being edited, the moves that causes make on it, and the diff; no cause
logic here."""
