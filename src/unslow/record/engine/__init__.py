"""The recorder: spans, steps, rows, the fast path, the watcher thread, arming."""
