import json
from dataclasses import dataclass, field


@dataclass(eq=False)
class StepOptions:
    """What the losses need to know in a step."""
    weights: dict = field(default_factory=dict)
    margin: float = 0.2
    label_smoothing: float = 0.05


def load(path):
    with open(path) as f:
        return json.load(f)


def options_for(cfg, step):
    return StepOptions(weights=dict(cfg["tasks"]))
