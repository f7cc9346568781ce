"""Jobs of many workers that never ran: recordings with known faults, diagnosed and scored."""
