"""Stand-ins for TensorFlow's classes, wrapped by the real probes through the real arming."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from unslow.record.engine.start import Recording


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 500
        return self.now


class Graph(SimpleNamespace):
    """Weakly referenced, as TensorFlow's own are."""


def module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    return made


def opened(recording: Recording, *modules: ModuleType) -> None:
    for each in modules:
        recording.arming.open(each.__name__, each)


def compiled(recording: Recording) -> Callable[[], object]:
    """A tf.function that updates weights."""

    class Function:
        def __init__(self) -> None:
            update = SimpleNamespace(type="AssignSubVariableOp", name="update")
            graph = Graph(inputs=[], outer_graph=SimpleNamespace(outer_graph=None))
            graph.get_operations = lambda: [update]
            traces = [SimpleNamespace(graph=graph)]
            self._function_cache = SimpleNamespace(values=lambda: traces)
            self._name, self._python_function = "train", compiled

        def __call__(self, batch: object) -> None:
            pass

    function = Function()
    context = SimpleNamespace(_set_global_seed=None, clear_kernel_cache=None)
    opened(
        recording,
        module(
            "tensorflow.python.eager.context",
            executing_eagerly=lambda: True,
            Context=type("Context", (), {}),
            context=lambda: context,
        ),
        module(
            "tensorflow.python.eager.polymorphic_function.polymorphic_function", Function=Function
        ),
    )
    batch = SimpleNamespace(_shape_tuple=lambda: (32, 64))
    return lambda: function(batch)


def session(recording: Recording) -> Callable[[], object]:
    """A session whose fetches lead to an update."""
    train = SimpleNamespace(
        name="train", type="ResourceApplyGradientDescent", inputs=(), control_inputs=()
    )
    train.traceback = []
    graph = SimpleNamespace(
        version=1,
        get_collection=lambda name: [],
        get_operations=lambda: [train],
        num_operations=lambda: 1,
    )

    class BaseSession:
        def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
            self._graph = self.graph = graph

        def run(
            self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
        ) -> None:
            self._do_run(None, [fetches], [], feed_dict, options, run_metadata)

        def _do_run(
            self, handle: Any, targets: Any, fetches: Any, feed: Any, options: Any, metadata: Any
        ) -> None:
            pass

    class Session(BaseSession):
        pass

    options = SimpleNamespace(SOFTWARE_TRACE=1)
    config = SimpleNamespace(RunOptions=lambda **_: None, RunMetadata=lambda: None)
    config.RunOptions.SOFTWARE_TRACE = options.SOFTWARE_TRACE  # type: ignore[attr-defined]
    opened(
        recording,
        module(
            "tensorflow.python.client.session",
            BaseSession=BaseSession,
            Session=Session,
            config_pb2=config,
        ),
    )
    held, feed = Session(graph=graph), {"x": SimpleNamespace(size=1024)}
    return lambda: held.run(train, feed)


def eager(recording: Recording) -> Callable[[], object]:
    """A gradient of four weights, and an optimizer that applies it."""

    class Optimizer:
        def apply_gradients(self, pairs: object) -> None:
            pass

    class GradientTape:
        def __enter__(self) -> GradientTape:
            return self

        def gradient(self, target: object, sources: object) -> None:
            pass

        def jacobian(self) -> None:
            pass

    opened(
        recording,
        module(
            "tensorflow.python.eager.context",
            executing_eagerly=lambda: True,
            Context=type("Context", (), {}),
        ),
        module("tensorflow.python.eager.backprop", GradientTape=GradientTape),
        module("tensorflow.python.training.optimizer", Optimizer=Optimizer),
    )
    optimizer, tape, weights = (
        Optimizer(),
        GradientTape(),
        [SimpleNamespace(name="w") for _ in range(4)],
    )
    pairs = [(None, weight) for weight in weights]

    def step() -> None:
        tape.__enter__()
        tape.gradient(None, weights)
        optimizer.apply_gradients(pairs)

    return step
