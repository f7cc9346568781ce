"""Jobs of many processes: identity, collectives, and what each step waits for."""
