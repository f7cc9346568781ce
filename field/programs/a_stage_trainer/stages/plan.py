from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    name: str
    steps: int
    smoothing: float
    l2: float


def default_plan():
    return [Plan("warmup", 12, 0.1, 0.0), Plan("main", 30, 0.05, 1e-4), Plan("anneal", 12, 0.0, 1e-4)]
