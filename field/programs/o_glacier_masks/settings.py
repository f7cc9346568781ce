from dataclasses import dataclass, field
from typing import Tuple


@dataclass
class DataCfg:
    scenes: int = 512
    holdout: int = 640
    size: int = 64
    bands: int = 4
    seed: int = 17


@dataclass
class TrainCfg:
    epochs: int = 4
    batch: int = 16
    lr: float = 1.5e-3
    filters: Tuple[int, ...] = (16, 24, 32)
    eval_batch: int = 1024
    threshold: float = 0.5


@dataclass
class Experiment:
    name: str = "glacier-v3"
    data: DataCfg = field(default_factory=DataCfg)
    train: TrainCfg = field(default_factory=TrainCfg)
