"""Facts about Keras's own loops: fit, evaluate, predict."""

from __future__ import annotations

from unslow.facts.schema import Duration, Stack, Thinned


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
