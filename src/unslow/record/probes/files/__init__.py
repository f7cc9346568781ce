"""What the training writes: checkpoints, summaries, logs."""
