"""The machine around the process: its size, its limits, its settings."""
