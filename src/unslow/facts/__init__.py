"""The schema of what a recording holds: shared by both processes, standard library only."""
