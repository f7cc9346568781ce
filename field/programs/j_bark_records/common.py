import os
from dataclasses import dataclass


@dataclass
class Job:
    folder: str
    shards: int = 4
    per_shard: int = 60
    photo: int = 320
    crop: int = 40
    species: int = 5
    batch: int = 24
    epochs: int = 7
    rate: float = 1e-3
    seed: int = 3

    def shard(self, k):
        return os.path.join(self.folder, f"bark-{k:03d}.tfrecord")

    @property
    def pattern(self):
        return os.path.join(self.folder, "bark-*.tfrecord")
