"""Who holds memory: containers, tensors, variables, optimizer state, the garbage collector."""
