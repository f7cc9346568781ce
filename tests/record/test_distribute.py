"""What the probe sees of collectives, on stand-ins for TensorFlow's classes."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from unslow.record.engine.start import Recording

UTILS = "tensorflow.python.distribute.cross_device_utils"
CLUSTER = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}


class Keys:
    def __init__(self) -> None:
        self.key = 100

    def get_instance_key(self, group_key: int, device: str) -> int:
        self.key += 1
        return self.key


class Launcher:
    _group_size = 2

    def all_reduce(self, input_tensor: Any, control_input: Any = None, options: Any = None) -> Any:
        return input_tensor

    def _all_gather(self, input_tensor: Any, options: Any = None) -> Any:
        return input_tensor

    def batch_all_reduce(self, input_tensor_packs: Any, options: Any = None) -> Any:
        return [self.all_reduce(tensor(6)) for pack in input_tensor_packs]

    def all_reduce_indexed_slices(self, input_slices: Any, options: Any = None) -> Any:
        self._all_gather(input_slices.indices)
        return self._all_gather(input_slices.values)


def tensor(elements: int) -> Any:
    shape = SimpleNamespace(num_elements=lambda: elements)
    return SimpleNamespace(shape=shape, dtype=SimpleNamespace(size=4))


def utils() -> ModuleType:
    module = ModuleType(UTILS)
    module.CollectiveKeys = type("CollectiveKeys", (Keys,), dict(vars(Keys)))  # type: ignore[attr-defined]
    module.CollectiveReplicaLauncher = type("Launcher", (), dict(vars(Launcher)))  # type: ignore[attr-defined]
    return module


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    recordings: list[Recording] = []
    # Other tests may have left a TensorFlow behind that runs eagerly; here a graph is built.
    monkeypatch.delitem(sys.modules, "tensorflow.python.eager.context", raising=False)

    def start(config: str = "") -> tuple[Recording, ModuleType]:
        monkeypatch.setenv("TF_CONFIG", config)
        recording = Recording(str(tmp_path))
        recordings.append(recording)
        module = utils()
        recording.arming.open(UTILS, module)
        return recording, module

    yield start
    for recording in recordings:
        recording.end()


def facts(recording: Recording, folder: Path, kind: str) -> list[dict[str, Any]]:
    recording.recorder.flush()
    lines = next(folder.glob("*.events")).read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["k"] == kind]


def test_a_process_of_its_own_keeps_its_fast_path(begin: Callable[..., Any]) -> None:
    recording, module = begin()
    assert module.CollectiveKeys().get_instance_key(1, "cpu") == 101
    assert not recording.recorder.signals.row


def test_a_worker_records_its_steps_from_its_first_collective_on(
    begin: Callable[..., Any], tmp_path: Path
) -> None:
    recording, module = begin(json.dumps(CLUSTER))
    assert not recording.recorder.signals.row
    assert module.CollectiveKeys().get_instance_key(1, "cpu") == 101
    assert recording.recorder.signals.row
    (identity,) = facts(recording, tmp_path, "worker")
    assert (identity["index"], identity["size"]) == (1, 2)


def test_a_tf_config_that_is_not_json_is_written_down(
    begin: Callable[..., Any], tmp_path: Path
) -> None:
    recording, module = begin("{not json")
    module.CollectiveKeys().get_instance_key(1, "cpu")
    (identity,) = facts(recording, tmp_path, "worker")
    assert "JSONDecodeError" in identity["problem"]


def test_packs_and_slices_are_sized(begin: Callable[..., Any], tmp_path: Path) -> None:
    recording, module = begin(json.dumps(CLUSTER))
    launcher = module.CollectiveReplicaLauncher()
    launcher.batch_all_reduce([[1, 2, 3]])
    launcher.all_reduce_indexed_slices(SimpleNamespace(values=tensor(10), indices=tensor(2)))
    pack, slices = facts(recording, tmp_path, "collective")
    assert (pack["what"], pack["bytes"], pack["tensors"]) == ("all_reduce", 24, 3)
    assert (slices["what"], slices["bytes"], slices["sparse"]) == ("all_gather", 48, True)


def test_a_value_that_the_program_asks_all_workers_for_is_timed_at_its_line(
    begin: Callable[..., Any], tmp_path: Path
) -> None:
    recording, module = begin(json.dumps(CLUSTER))
    module.CollectiveKeys().get_instance_key(1, "cpu")
    library = ModuleType("tensorflow.python.distribute.distribute_lib")
    base = {"run": lambda self: None, "reduce": lambda self: time.sleep(0.01)}
    library.StrategyBase = type("StrategyBase", (), base)  # type: ignore[attr-defined]
    recording.arming.open(library.__name__, library)
    inputs = ModuleType("tensorflow.python.distribute.input_lib")
    inputs._calculate_replicas_with_values = lambda strategy: strategy.reduce()  # type: ignore[attr-defined]
    recording.arming.open(inputs.__name__, inputs)
    strategy = library.StrategyBase()
    for _ in range(3):
        strategy.reduce()
    strategy.run()
    for _ in range(2):
        inputs._calculate_replicas_with_values(strategy)
    recording.recorder.write_tallies(steps=3)
    reduced, asked = facts(recording, tmp_path, "eager_reduce")
    assert (reduced["count"], reduced["within"]) == (3, "reduce")
    assert reduced["took_ns"] > 25_000_000
    assert (asked["count"], asked["within"]) == (2, "input")


def test_a_step_that_a_coordinator_schedules_ends_a_step(begin: Callable[..., Any]) -> None:
    recording, _ = begin(json.dumps(CLUSTER))
    module = ModuleType("tensorflow.python.distribute.coordinator.cluster_coordinator")
    module.Worker = type("Worker", (), {"_process_closure": lambda self, closure: None})  # type: ignore[attr-defined]
    schedule = {"schedule": lambda self, fn, args=None, kwargs=None: fn}
    module.ClusterCoordinator = type("ClusterCoordinator", (), schedule)  # type: ignore[attr-defined]
    recording.arming.open(module.__name__, module)
    coordinator = module.ClusterCoordinator()
    for _ in range(3):
        assert coordinator.schedule(begin) is begin
    assert recording.steps.total == 3


def test_only_the_first_replica_of_a_process_makes_its_steps(begin: Callable[..., Any]) -> None:
    recording, _ = begin()
    recorder, steps = recording.recorder, recording.steps

    def update(self: Any) -> None:
        lane = recorder.local.lane
        if not lane.busy:  # as every probe asks
            steps.ended(lane, "assign", Launcher, "", sys._getframe())

    def made(self: Any, number: int) -> None:
        threading.Thread.__init__(self)
        self.replica_id = number

    module = ModuleType("tensorflow.python.distribute.mirrored_run")
    methods = {"__init__": made, "run": update}
    module._MirroredReplicaThread = type("Replica", (threading.Thread,), methods)  # type: ignore[attr-defined]
    recording.arming.open(module.__name__, module)
    lanes = len(recorder.lanes)
    for _ in range(3):
        replicas = [module._MirroredReplicaThread(number) for number in (0, 1)]
        for replica in replicas:
            replica.start()
        for replica in replicas:
            replica.join()
    assert steps.total == 3
    assert len(recorder.lanes) == lanes


def test_everything_is_put_back(begin: Callable[..., Any]) -> None:
    recording, module = begin(json.dumps(CLUSTER))
    wrapped = module.CollectiveReplicaLauncher.all_reduce
    recording.end()
    assert module.CollectiveReplicaLauncher.all_reduce is not wrapped
    assert module.CollectiveReplicaLauncher.all_reduce is Launcher.all_reduce
