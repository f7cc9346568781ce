"""Sees a distributed job from inside one of its processes: who it is, and every collective.

Nothing is added to a graph and nothing is sent: a job of which one process is not recorded, or is
recorded later, runs as it would without us.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType

from unslow.facts.phase import Phase
from unslow.facts.workers import Collective, EagerReduce, StrategyMade, WorkerIdentity
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.limits import limits_for
from unslow.record.engine.probe import Probe
from unslow.record.engine.recorder import Lane, clock
from unslow.record.probes.distribute.identity import identity
from unslow.record.probes.distribute.step_records import StepRecords

_RUN = int(Phase.RUN)
_OF_SLICES = 3  # gathers of one IndexedSlices: lengths, values and indices
_DEFAULT = "_Default"  # the strategy that every program has


class Distribute(Probe):
    """Names as of TensorFlow 2.15 to 2.21; all but the strategies' are private."""

    name = "distribute"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._identity: WorkerIdentity | None = None
        self._records: StepRecords | None = None
        self._within = ""  # what asks for the collective that is being launched
        self._packs: list[int] = []  # tensors in each pack that is still to be launched
        self._sparse = False
        self._launcher = 0  # id of the first device's launcher, whose collectives are timed
        # By the id of a replica's thread: who waits for it, and where.
        self._lenders: dict[int, tuple[Lane | None, FrameType | None]] = {}

    def doors(self) -> dict[str, Callable[[ModuleType], None]]:
        below = "tensorflow.python.distribute"
        return {
            "tensorflow": lambda module: self._identify(),
            f"{below}.distribute_lib": self._on_strategies,
            f"{below}.input_lib": self._on_input,
            f"{below}.cross_device_utils": self._on_collectives,
            f"{below}.mirrored_run": self._on_replicas,
        }

    def _identify(self) -> None:
        """Tell who this is, again where a variable was set since (Ray sets TF_CONFIG late)."""
        found = identity()
        if found is not None and found != self._identity:
            self._identity = found
            self.recorder.is_worker = found.size != 1
            self.recorder.limits = limits_for(found.size)
            self.recorder.emit(found)

    def _on_strategies(self, module: ModuleType) -> None:
        self.replace(module.StrategyBase, "__init__", self._made)
        self.replace(module.StrategyBase, "run", self._asked_by(""))
        self.replace(module.StrategyBase, "reduce", self._asked_by("reduce"))

    def _made(self, original: Function) -> Function:
        probe = self

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            probe._strategy_made(self, sys._getframe().f_back)

        return __init__

    def _strategy_made(self, strategy: Foreign, frame: FrameType | None) -> None:
        name = type(strategy).__name__
        if name.startswith(_DEFAULT):
            return
        try:
            self._identify()
            extended = strategy.extended
            made = StrategyMade(
                name=name,
                replicas=int(strategy.num_replicas_in_sync),
                local=len(getattr(extended, "worker_devices", ())) or 1,
                stack=self.recorder.stack(frame),
            )
            self.recorder.emit(made)
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _on_input(self, module: ModuleType) -> None:
        self.replace(module, "_calculate_replicas_with_values", self._asked_by("input"))

    def _asked_by(self, what: str) -> Callable[[Foreign], Foreign]:
        """Mark collectives that are launched inside of a call; the outermost mark counts.

        Where it runs eagerly, the calling thread waits for threads that run TensorFlow.
        """
        probe, local = self, self.recorder.local
        open_span, close = self.recorder.open_span, self.recorder.close_span

        def make(original: Function) -> Function:
            def call(strategy: object, *args: object, **kwargs: object) -> object:
                if type(strategy).__name__.startswith(_DEFAULT):
                    return original(strategy, *args, **kwargs)
                lane = local.lane
                outer = probe._within
                probe._within = outer or what
                span = None if lane.tracing or lane.busy else open_span(lane, _RUN)
                try:
                    return original(strategy, *args, **kwargs)
                finally:
                    probe._within = outer
                    took = close(lane, span) if span is not None else 0
                    if took and not outer:
                        probe._waited(what, took, sys._getframe().f_back)

            return call

        return make

    def _waited(self, what: str, took: int, frame: FrameType | None) -> None:
        """A call outside of any graph that asked all workers, at the user's line above it."""
        if not what or self._records is None:
            return
        while frame is not None and not self.recorder.user.owns(frame.f_code):
            frame = frame.f_back
        self.recorder.tally(EagerReduce, frame, took, within=what)

    def _on_replicas(self, module: ModuleType) -> None:
        """A strategy runs a replica in a thread of its own, while the calling one waits."""
        thread = module._MirroredReplicaThread
        self.replace(thread, "__init__", self._replica_made)
        self.replace(thread, "run", self._replica_runs)

    def _replica_made(self, original: Function) -> Function:
        local, lenders = self.recorder.local, self._lenders

        def __init__(self: object, *args: object, **kwargs: object) -> None:
            original(self, *args, **kwargs)
            if getattr(self, "replica_id", 1) == 0:  # the others' work is beside it
                lenders[id(self)] = (local.lane, sys._getframe().f_back)

        return __init__

    def _replica_runs(self, original: Function) -> Function:
        """The thread of the first replica works in the name of the one that waits for it."""
        recorder, lenders = self.recorder, self._lenders

        def run(self: object, *args: object, **kwargs: object) -> object:
            lane, frame = lenders.pop(id(self), (None, None))
            own = recorder.local.lane
            if own in recorder.lanes:
                recorder.lanes.remove(own)  # the thread ends with the call
            if lane is None:
                own.busy = getattr(self, "replica_id", 0) != 0  # else each step counts twice
                return original(self, *args, **kwargs)
            recorder.local.lane, lane.lent = lane, frame
            try:
                return original(self, *args, **kwargs)
            finally:
                lane.lent = None

        return run

    def _on_collectives(self, module: ModuleType) -> None:
        launcher = module.CollectiveReplicaLauncher
        self.replace(module.CollectiveKeys, "get_instance_key", self._launching)
        self.replace(launcher, "all_reduce", self._reducing)
        self.replace(launcher, "_all_gather", self._gathering)
        self.replace(launcher, "batch_all_reduce", self._packing)
        self.replace(launcher, "all_reduce_indexed_slices", self._slicing)

    def _launching(self, original: Function) -> Function:
        """Every collective asks for its key: when it is run eagerly, or when a graph is called."""
        probe = self

        def get_instance_key(self: object, *args: object, **kwargs: object) -> object:
            key = original(self, *args, **kwargs)
            try:
                records = probe._records or probe._begin_records()
                if records is not None:
                    records.launched(int(key))
            except Exception as problem:  # noqa: BLE001 - the fence of a probe
                probe.recorder.lost(probe.name, f"{type(problem).__name__}: {problem}")
            return key

        return get_instance_key

    def _begin_records(self) -> StepRecords | None:
        """Start to record steps: from now on, other processes may be waiting for this one."""
        self._identify()
        alone = self._identity is None or self._identity.size == 1
        if alone or self.recorder.is_trial:
            return None
        self.steps.leave_fast_path()
        records = self._records = StepRecords(self.recorder, self.steps)
        self.recorder.signals.row.subscribe(self.name, self._row)
        self.recorder.signals.tick.subscribe(self.name, records.read_threads)
        return records

    def _row(self, lane: Lane) -> None:
        if self._records is None:
            return
        step = self._records.row(lane)
        if step:
            self.recorder.signals.shared_step.send(lane, step)

    def _packing(self, original: Function) -> Function:
        probe = self

        def batch_all_reduce(
            self: object, packs: Foreign, *args: object, **kwargs: object
        ) -> object:
            probe._packs = [] if _runs_eagerly() else [len(pack) for pack in packs]
            try:
                return original(self, packs, *args, **kwargs)
            finally:
                probe._packs = []

        return batch_all_reduce

    def _reducing(self, original: Function) -> Function:
        probe = self

        def all_reduce(
            self: object, input_tensor: object, *args: object, **kwargs: object
        ) -> object:
            tensors = probe._packs.pop(0) if probe._packs else 1
            probe._seen("all_reduce", self, (input_tensor,), tensors, sys._getframe().f_back)
            began = clock()
            reduced = original(self, input_tensor, *args, **kwargs)
            probe._ran(self, 1, began)
            return reduced

        return all_reduce

    def _gathering(self, original: Function) -> Function:
        probe = self

        def _all_gather(
            self: object, input_tensor: object, *args: object, **kwargs: object
        ) -> object:
            if probe._sparse:
                return original(self, input_tensor, *args, **kwargs)
            probe._seen("all_gather", self, (input_tensor,), 1, sys._getframe().f_back)
            began = clock()
            gathered = original(self, input_tensor, *args, **kwargs)
            probe._ran(self, 1, began)
            return gathered

        return _all_gather

    def _slicing(self, original: Function) -> Function:
        """IndexedSlices: their lengths, their values and their indices are gathered."""
        probe = self

        def all_reduce_indexed_slices(
            self: object, slices: object, *args: object, **kwargs: object
        ) -> object:
            parts = (getattr(slices, "values", None), getattr(slices, "indices", None))
            probe._sparse = True
            probe._seen("all_gather", self, parts, _OF_SLICES, sys._getframe().f_back)
            began = clock()
            try:
                return original(self, slices, *args, **kwargs)
            finally:
                probe._sparse = False
                probe._ran(self, _OF_SLICES, began)

        return all_reduce_indexed_slices

    def _seen(
        self,
        what: str,
        launcher: object,
        values: tuple[Foreign, ...],
        tensors: int,
        frame: FrameType | None,
    ) -> None:
        """A collective is put into a graph, or run. Never raises."""
        try:
            size = sum(map(_bytes_of, values))
            eager = _runs_eagerly()
            key = f"{what} {size} {tensors} {self._within} {self._sparse} {eager}"
            if not self.recorder.wants(Collective, key):
                self.recorder.count(Collective, key)
                return
            stack = self.recorder.stack(frame) or self.recorder.stack(self._training_frame())
            self.recorder.emit(
                Collective(
                    key=key,
                    what=what,
                    bytes=size,
                    tensors=tensors,
                    sparse=self._sparse,
                    eager=eager,
                    within=self._within,
                    group=int(getattr(launcher, "_group_size", 0)),
                    stack=stack,
                )
            )
        except Exception as problem:  # noqa: BLE001 - the fence of a probe
            self.recorder.lost(self.name, f"{type(problem).__name__}: {problem}")

    def _ran(self, launcher: object, collectives: int, began: int) -> None:
        """A collective of one device was put into a graph, or run; other devices run beside it."""
        records = self._records
        if records is None or not _runs_eagerly():
            return
        self._launcher = self._launcher or id(launcher)
        took = clock() - began if id(launcher) == self._launcher else 0
        records.ran(collectives, took)

    def _training_frame(self) -> FrameType | None:
        """Eager reductions are launched by threads of TensorFlow's: the user's line waits."""
        return sys._current_frames().get(self.watcher.training_thread())

    def disarm(self) -> None:
        records, self._records = self._records, None
        if records is not None:
            self.recorder.signals.row.unsubscribe(self._row)
            self.recorder.signals.tick.unsubscribe(records.read_threads)
            records.finish()
        super().disarm()


def _runs_eagerly() -> bool:
    context = sys.modules.get("tensorflow.python.eager.context")
    return context is not None and bool(context.executing_eagerly())


def _bytes_of(tensor: Foreign) -> int:
    """Bytes of a tensor, symbolic or not; 0 where its shape is not known yet."""
    try:
        return int(tensor.shape.num_elements() * tensor.dtype.size)
    except (AttributeError, TypeError):  # no tensor, or None elements
        return 0
