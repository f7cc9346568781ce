"""Facts about Keras's own loops: fit, evaluate, predict and the hooks of callbacks."""

from __future__ import annotations

from collections.abc import Mapping

from unslow.facts.schema import Duration, Place, Stack, Thinned


class Fit(Thinned, probe="keras"):
    """A call of fit; `key` is the user's line."""

    stack: Stack = ()
    model: int = 0  # its id
    data: str = ""  # type of x
    module: str = ""  # of that type
    batch_size: float | str | None = None  # a text is the name of a type that is no number
    epochs: int | str | None = 1  # by name; 1 may also be a number given by position
    optimizer: str = ""
    run_eagerly: bool = False
    steps_per_execution: float | str | None = 1
    jit: bool = False
    accumulation: float | str | None = None  # gradient_accumulation_steps
    step: int = 0


class Epoch(Thinned, probe="keras"):
    """An epoch of fit ended."""

    epoch: int | str | None = None
    step: int = 0
    logs: Mapping[str, float | str | None] = {}


class Hook(Thinned, probe="keras"):
    """One call of a callback's hook."""

    hook: str = ""  # the method's name
    callback: str = ""  # its class
    module: str = ""  # of that class
    step: int = 0
    own: Duration = 0.0  # without saving, logging, fetching and evaluating inside it
    own_sum: Duration = 0.0  # the running total of that
    users: bool = False  # the user's own code
    on_thread: bool = True  # on the thread that trains, not beside it
    place: Place | None = None


class Prediction(Thinned, probe="keras"):
    """One call of predict, evaluate, test_on_batch or predict_on_batch by the user's own line."""

    call: str = ""
    ran: Duration | None = None  # in which TensorFlow ran the model; None where only counted
    rows: float = 0.0
    data: str = ""  # type of x
    batch_size: float | str | None = None
    in_fit: bool = False
    stack: Stack = ()
    step: int = 0


class Validation(Thinned, probe="keras"):
    """One validation that fit() made of data in memory."""

    rows: float = 0.0
    batch_size: float | str | None = None
    stack: Stack = ()
