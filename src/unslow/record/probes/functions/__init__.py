"""tf.function: traces, calls, graphs, flags."""
