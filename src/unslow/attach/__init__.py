"""Recording a training that already runs: finding it, getting in, following it, and getting out
again."""
