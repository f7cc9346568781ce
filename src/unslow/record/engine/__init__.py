"""The recorder: spans, steps, rows, the fast path for repeated calls, the watcher thread, arming."""
