import json
import sys
from dataclasses import asdict

import keras

from scenes import build
from settings import Experiment
from trainer import Trainer


def main():
    cfg = Experiment()
    for arg in sys.argv[1:]:
        key, _, value = arg.partition("=")
        part, _, name = key.partition(".")
        old = getattr(getattr(cfg, part), name)
        setattr(getattr(cfg, part), name, type(old)(value))
    keras.utils.set_random_seed(cfg.data.seed)
    print(json.dumps(asdict(cfg)))
    d = cfg.data
    train = build(d.scenes, d.size, d.bands, d.seed)
    val = build(d.holdout, d.size, d.bands, d.seed + 1)
    trainer = Trainer(cfg)
    scores = trainer.run(train, val)
    print("best IoU", round(max(scores), 4))


if __name__ == "__main__":
    main()
