"""Reports: a diagnosis becomes one plain dict (`view`), and every format is written from that dict alone."""
