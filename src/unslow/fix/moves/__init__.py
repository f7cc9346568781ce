"""One module per kind of edit; none of them knows a cause."""
