from .graph import Classifier
from .sparsify import MagnitudePruner

__all__ = ["Classifier", "MagnitudePruner"]
