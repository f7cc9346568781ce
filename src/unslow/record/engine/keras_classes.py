"""Classes of Keras 3 with two names: Keras 3.16 (seen in its nightly builds) renamed them."""

from __future__ import annotations

from unslow.record.engine.foreign import Foreign


def base_trainer(module: Foreign) -> Foreign:
    """What all models are: `keras.src.trainers.trainer.Trainer`, later `BaseTrainer`."""
    return getattr(module, "BaseTrainer", None) or module.Trainer


def tensorflow_trainer(module: Foreign) -> Foreign:
    """What `fit` belongs to: `keras.src.backend.tensorflow.trainer.TensorFlowTrainer`, later
    `Trainer`."""
    return getattr(module, "TensorFlowTrainer", None) or module.Trainer
