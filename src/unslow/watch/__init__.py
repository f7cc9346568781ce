"""Watching runs for days: says once when one slows down, stalls, fills memory or disk, dies or is
done."""
