from dataclasses import dataclass, field


@dataclass(frozen=True)
class AnnealConfig:
    start: float = 0.0
    stop: float = 1.0
    warmup: int = 18
    free_bits: float = 0.02


@dataclass(frozen=True)
class ModelConfig:
    side: int = 28
    latent: int = 16
    widths: tuple = (512, 256, 256)


@dataclass(frozen=True)
class RunConfig:
    epochs: int = 24
    steps_per_epoch: int = 30
    batch: int = 128
    samples: int = 8192
    learning_rate: float = 7e-4
    seed: int = 11
    anneal: AnnealConfig = field(default_factory=AnnealConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
