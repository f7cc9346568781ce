from .plan import Plan, default_plan
from .trainer import StageTrainer

__all__ = ["Plan", "default_plan", "StageTrainer"]
