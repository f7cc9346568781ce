from .episodes import Pool
from .learner import Prototypes

__all__ = ["Pool", "Prototypes"]
