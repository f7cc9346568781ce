"""What a step pays for being recorded, counted in bytecodes of ours: the same on every machine, whatever else it does.

The loops call stand-ins for TensorFlow's classes, wrapped by the real probes through the real arming.
A limit is half as much again as was counted on Python 3.11, since other versions compile differently.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, ModuleType, SimpleNamespace
from typing import Any

import pytest

from unslow.record.probe import WRAPPERS
from unslow.record.start import Recording

WARM = 1500  # steps that are not counted: the first ones are looked at more closely
COUNTED = 2000  # with the looks at step 2 048
STEP = 300_000  # nanoseconds that a step takes by the clock of these tests
LOOKS = 200  # of the watcher: four seconds
PERIOD = 20_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 500
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """One clock for every module of the recorder: looks that wait for time then come at the same steps each time."""
    fake = Clock()
    for name, module in list(sys.modules.items()):
        if name.startswith("unslow.record.") and hasattr(module, "clock"):
            monkeypatch.setattr(module, "clock", fake)
    return fake


@pytest.fixture
def recording(tmp_path: Path, clock: Clock) -> Iterator[Recording]:
    made = Recording(str(tmp_path))
    yield made
    made.arming.uninstall()
    made._show()
    made.recorder.writer.close()


def module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    return made


def opened(recording: Recording, *modules: ModuleType) -> None:
    for each in modules:
        recording.arming.open(each.__name__, each)


class Opcodes:
    """Counts the bytecodes that run in other code than this file's; our wrappers here are disguised as it."""

    def __init__(self) -> None:
        self.count = 0

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        if _is_of_this_test(frame.f_code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._ran

    def _ran(self, frame: FrameType, event: str, argument: object) -> Any:
        self.count += event == "opcode"
        return self._ran

    def __enter__(self) -> Opcodes:
        self._before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # Python 3.12 counts none unless a frame has asked before settrace
        sys.settrace(self._called)
        return self

    def __exit__(self, *problem: object) -> None:
        sys.settrace(self._before)


def _is_of_this_test(code: CodeType) -> bool:
    return code.co_filename == __file__ and code not in WRAPPERS


def per_step(step: Callable[[], object], clock: Clock) -> float:
    """Bytecodes of ours in one step, over many."""
    for _ in range(WARM):
        clock.now += STEP
        step()
    with Opcodes() as ours:
        for _ in range(COUNTED):
            clock.now += STEP
            step()
    return ours.count / COUNTED


def compiled(recording: Recording) -> Callable[[], object]:
    """A tf.function that updates weights."""

    class Function:
        def __init__(self) -> None:
            self._name, self._function_cache, self._python_function = "train", object(), compiled

        def __call__(self, batch: object) -> None:
            pass

        def _list_all_concrete_functions(self) -> list[Any]:
            node = SimpleNamespace(op="AssignSubVariableOp")
            definition = SimpleNamespace(node=[node], library=SimpleNamespace(function=[]))
            graph = SimpleNamespace(inputs=[], outer_graph=SimpleNamespace(outer_graph=None))
            graph.as_graph_def = lambda: definition
            return [SimpleNamespace(graph=graph)]

    function = Function()
    context = SimpleNamespace(_set_global_seed=None, clear_kernel_cache=None)
    opened(
        recording,
        module("tensorflow.python.eager.context", executing_eagerly=lambda: True, Context=type("Context", (), {}),
               context=lambda: context),
        module("tensorflow.python.eager.polymorphic_function.polymorphic_function", Function=Function),
    )  # fmt: skip
    batch = SimpleNamespace(_shape_tuple=lambda: (32, 64))
    return lambda: function(batch)


def session(recording: Recording) -> Callable[[], object]:
    """A session whose fetches lead to an update."""
    train = SimpleNamespace(name="train", type="ResourceApplyGradientDescent", inputs=(), control_inputs=())
    train.traceback = []
    graph = SimpleNamespace(
        version=1, get_collection=lambda name: [], get_operations=lambda: [train], num_operations=lambda: 1
    )

    class BaseSession:
        def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
            self._graph = self.graph = graph

        def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> None:
            self._do_run(None, [fetches], [], feed_dict, options, run_metadata)

        def _do_run(self, handle: Any, targets: Any, fetches: Any, feed: Any, options: Any, metadata: Any) -> None:
            pass

    class Session(BaseSession):
        pass

    options = SimpleNamespace(SOFTWARE_TRACE=1)
    config = SimpleNamespace(RunOptions=lambda **_: None, RunMetadata=lambda: None)
    config.RunOptions.SOFTWARE_TRACE = options.SOFTWARE_TRACE  # type: ignore[attr-defined]
    opened(
        recording,
        module("tensorflow.python.client.session", BaseSession=BaseSession, Session=Session, config_pb2=config),
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
        module("tensorflow.python.eager.context", executing_eagerly=lambda: True, Context=type("Context", (), {})),
        module("tensorflow.python.eager.backprop", GradientTape=GradientTape),
        module("tensorflow.python.training.optimizer", Optimizer=Optimizer),
    )
    optimizer, tape, weights = Optimizer(), GradientTape(), [SimpleNamespace(name="w") for _ in range(4)]
    pairs = [(None, weight) for weight in weights]

    def step() -> None:
        tape.__enter__()
        tape.gradient(None, weights)
        optimizer.apply_gradients(pairs)

    return step


@pytest.mark.parametrize(
    ("make", "limit"),
    [(compiled, 750), (session, 1080), (eager, 1220)],
    ids=["compiled", "session", "eager"],
)
def test_a_step_pays_no_more_bytecodes_than_it_may(
    make: Callable[[Recording], Callable[[], object]], limit: float, recording: Recording, clock: Clock
) -> None:
    step = make(recording)
    counted = per_step(step, clock)
    assert recording.steps.total == WARM + COUNTED, recording.recorder.probes
    assert 0 < counted <= limit


def test_a_look_of_the_watcher_pays_no_more_bytecodes_than_it_may(recording: Recording, clock: Clock) -> None:
    step, parked, leave = compiled(recording), threading.Event(), threading.Event()

    def train() -> None:
        for _ in range(WARM):
            clock.now += STEP
            step()
        parked.set()
        leave.wait()

    training = threading.Thread(target=train)
    training.start()
    parked.wait()
    with Opcodes() as ours:
        for _ in range(LOOKS):
            clock.now += PERIOD
            recording.watcher._due += 1.0
            recording.watcher._wake()
    leave.set()
    training.join()
    assert recording.watcher.samples == LOOKS
    assert 0 < ours.count / LOOKS <= 1200
