from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    labelled: int = 320
    unlabelled: int = 8000
    test: int = 600
    size: int = 32
    classes: int = 6
    batch: int = 24
    ratio: int = 3
    epochs: int = 9
    lr: float = 1e-3
    threshold: float = 0.8
    lambda_max: float = 1.0
    rampup: int = 8
    seed: int = 41

    def weight(self, epoch):
        return self.lambda_max * min(1.0, epoch / self.rampup)
