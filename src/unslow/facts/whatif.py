"""The switches of `unslow whatif`: where a script reaches one, and what was done there."""

from __future__ import annotations

from collections.abc import Mapping

from unslow.facts.schema import Fact, Stack


class Switched(Fact):
    """A switch was reached; written once for each place and content."""

    stack: Stack = ()  # the user's line, where there is one
    done: tuple[str, ...] = ()  # settings that took effect here


class SwitchFailed(Switched, probe="whatif"):
    """A switch failed; the training went on without it."""

    switch: str = ""
    why: str = ""


class RuntimeStarted(Switched, probe="whatif"):
    """TensorFlow was imported, with the environment of the setting."""

    environment: Mapping[str, str | None] = {}


class ModelCompiled(Switched, probe="whatif"):
    """A Keras model was compiled."""

    eager: bool = False


class FitStarted(Switched, probe="whatif"):
    """Keras's fit was called."""

    arrays: bool = False  # its data are arrays: `batch_size` decides
    dataset: bool = False  # its data are a dataset
    size: int = 0  # examples in a batch; 0 where the data are no arrays
    was: int = 0  # the same as the script sets it
    epoch: int = 0  # steps in an epoch, 0 if unknown
    jit: bool = False
    together: int = 1  # steps_per_execution
    eager: bool = False


class LayersMade(Switched, probe="whatif"):
    """Keras layers were built under a policy of precision."""

    policy: str = ""


class ThreadsSet(Switched, probe="whatif"):
    """The script sets a number of threads itself."""

    which: str = ""  # intra or inter
    own: int | None = None


class DeterminismAsked(Switched, probe="whatif"):
    """The script enables deterministic ops."""


class SessionMade(Switched, probe="whatif"):
    """A session was created."""

    configured: bool = False  # with a configuration of its own


class FunctionCompiled(Switched, probe="whatif"):
    """A tf.function was given jit_compile."""

    place: str = ""


class WeightsUpdated(Switched, probe="whatif"):
    """Something updated the weights for the first time."""

    way: str = ""  # function, session, optimizer, …
    owner: str = ""  # its class
    place: str = ""  # of its Python code
    users: bool = False  # which is the user's own
    jit: bool = False
    fit: bool = False  # inside of Keras's fit
    rows: int = 0  # of the batch, 0 if unknown


class DatasetBatched(Switched, probe="whatif"):
    """A dataset was batched."""

    size: int = 0
    was: int = 0  # as the script sets it
    place: str = ""


class DatasetRebatched(Switched, probe="whatif"):
    """A dataset was batched a second time: the inner batch is no training batch."""

    place: str = ""


class PipelineRead(Switched, probe="whatif"):
    """An iterator over a dataset was created."""

    stages: tuple[str, ...] = ()


class AccumulationSeen(Switched, probe="whatif"):
    """An optimizer of Keras 3 was created, which can accumulate gradients."""

    own: int = 0  # steps that it accumulates already


class OptimizerMade(Switched, probe="whatif"):
    """An optimizer was created."""

    own: str = ""  # its class
    package: str = ""
