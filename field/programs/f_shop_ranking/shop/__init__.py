from .data import Visits
from .report import per_shopper_auc

__all__ = ["Visits", "per_shopper_auc"]
