import logging

import tensorflow as tf

from annealvae.config import RunConfig
from annealvae.data import make_dataset
from annealvae.model import VAE
from annealvae.trainer import Trainer


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", datefmt="%H:%M:%S")
    cfg = RunConfig()
    tf.keras.utils.set_random_seed(cfg.seed)
    trainer = Trainer(VAE(cfg.model), cfg)
    trainer.run(make_dataset(cfg))


if __name__ == "__main__":
    main()
