"""Reports: a diagnosis becomes plain data (`view`), and every format is written from that alone."""
