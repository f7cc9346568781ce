from tensorflow import keras

from faces.data import FaceSource
from faces.trainer import CenterTrainer

CONFIG = {"source": {"count": 12000, "people": 40, "batch": 96}, "train": {"steps": 250, "report": 50}}

if __name__ == "__main__":
    keras.utils.set_random_seed(6)
    trainer = CenterTrainer(FaceSource(**CONFIG["source"]))
    trainer.fit(**CONFIG["train"])
