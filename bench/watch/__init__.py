"""How well `unslow watch` keeps its promises: simulated months, and real runs with injected troubles."""
