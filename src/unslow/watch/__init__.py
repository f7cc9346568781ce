"""Watching runs for days: alerts once when one slows, stalls, fills up, dies or is done."""
