"""TensorFlow's own switches: threads, graph optimizer, determinism, XLA for training functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import FrameType, ModuleType

from unslow.facts.whatif import (
    DeterminismAsked,
    FunctionCompiled,
    RuntimeStarted,
    SessionMade,
    ThreadsSet,
    WeightsUpdated,
)
from unslow.record.engine.foreign import Foreign, Function
from unslow.record.engine.probe import Doors
from unslow.record.engine.recorder import Lane
from unslow.record.probes.functions.signatures import code_place
from unslow.record.trial.whatif.switch import Switch

_CONFIG = "tensorflow.python.framework.config"
_THREADS = ("intra", "inter")


class Runtime(Switch):
    """Set before the script's first line; what the script or its Session sets is overruled."""

    name = "whatif-runtime"

    def doors(self) -> Doors:
        return {
            _CONFIG: self._on_config,
            "tensorflow": self._on_tensorflow,
            "tensorflow.python.client.session": self.wrapping(
                {"BaseSession.__init__": self.changed(self._session)}
            ),
        }

    def _on_tensorflow(self, module: ModuleType) -> None:
        config: Foreign = sys.modules[_CONFIG]
        for name in _THREADS:
            if name in self.asked:
                getattr(config, f"set_{name}_op_parallelism_threads")(self.asked[name])
        if "graph" in self.asked:
            config.set_optimizer_experimental_options(self.asked["graph"])
        environment = {name: os.environ.get(name) for name in self.asked.get("environment", ())}
        done = tuple(sorted({*_THREADS, "graph"} & set(self.asked)))
        self.tell(RuntimeStarted(done=done, environment=environment))

    def _on_config(self, module: ModuleType) -> None:
        for name in _THREADS:
            self.replace(
                module, f"set_{name}_op_parallelism_threads", self.changed(self._threads(name))
            )
        self.replace(module, "enable_op_determinism", self._determinism)

    def _threads(
        self, name: str
    ) -> Callable[[Mapping[str, Foreign], FrameType], dict[str, Foreign]]:
        def change(arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
            caller = self.users(frame)
            if caller is not None:
                self.tell(ThreadsSet(which=name, own=arguments.get("num_threads")), caller)
            return {"num_threads": self.asked[name]} if name in self.asked else {}

        return change

    def _determinism(self, original: Function) -> Function:
        probe = self

        def enable_op_determinism() -> None:
            off = probe.asked.get("determinism") is False
            done = ("determinism",) if off else ()
            probe.tell(DeterminismAsked(done=done), sys._getframe(1))
            if not off:
                original()

        return enable_op_determinism

    def _session(self, arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
        own = arguments.get("config")
        asked = sorted({*_THREADS, "graph"} & set(self.asked))
        self.tell(SessionMade(done=tuple(asked), configured=own is not None), frame)
        if own is None or not asked:  # without one of its own a Session takes what tf.config says
            return {}
        ours = type(own)()
        ours.CopyFrom(own)
        for name in _THREADS:
            if name in self.asked:
                setattr(ours, f"{name}_op_parallelism_threads", self.asked[name])
        if "graph" in self.asked:
            context: Foreign = sys.modules["tensorflow.python.eager.context"]
            ours.graph_options.rewrite_options.MergeFrom(
                context.context().config.graph_options.rewrite_options
            )
        return {"config": ours}


class Functions(Switch):
    """XLA for the functions that a first run saw updating weights; tells which ones those are."""

    name = "whatif-functions"

    def __init__(self, *parts: Foreign) -> None:
        super().__init__(*parts)
        self._seen: set[int] = set()
        self._rows = 0  # in the batch that is under way, where it can be seen
        if not self.asked:
            self._watch()

    def doors(self) -> Doors:
        return {
            "tensorflow.python.eager.polymorphic_function.polymorphic_function": self._on_functions,
            "tensorflow.python.client.session": self._on_session,
        }

    def _on_functions(self, module: ModuleType) -> None:
        if self.asked.get("functions"):
            self.replace(module.Function, "__init__", self.changed(self._made))
        if not self.asked:
            self.replace(module.Function, "__call__", self.changed(self._called))

    def _on_session(self, module: ModuleType) -> None:
        if not self.asked:
            self.replace(module.BaseSession, "run", self.changed(self._ran))

    def _called(self, arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
        if not self.recorder.local.lane.tracing:
            self._rows = _rows([arguments.get("args"), arguments.get("kwds")]) or self._rows
        return {}

    def _ran(self, arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
        self._rows = _rows(arguments.get("feed_dict")) or self._rows
        return {}

    def _made(self, arguments: Mapping[str, Foreign], frame: FrameType) -> dict[str, Foreign]:
        place = _place(arguments.get("python_function"))
        if place not in self.asked["functions"]:
            return {}
        self.tell(FunctionCompiled(done=("functions",), place=place), frame)
        return {"jit_compile": True}

    def _watch(self) -> None:
        """Report what updates the weights, once each: only in the first run, which is not timed."""
        self.recorder.signals.update.subscribe(self.name, self._updated)

    def _updated(self, lane: Lane, kind: str, owner: object, frame: FrameType | None) -> None:
        if id(owner) in self._seen:
            return
        self._seen.add(id(owner))
        function = getattr(owner, "_python_function", None)
        file = str(code_place(function)[0]) if function is not None else ""
        reached = WeightsUpdated(
            way=kind,
            owner=type(owner).__name__,
            place=_place(function) if function else "",
            users=bool(file) and self.recorder.user.owns_file(file),
            jit=bool(getattr(owner, "_jit_compile", False)),
            fit=lane.fit is not None,
            rows=self._rows,
        )
        self.tell(reached, frame)


def _place(function: object) -> str:
    """The same in every trial, though each runs in a copy of the directory."""
    file, line, name = code_place(function)
    return f"{os.path.basename(file)}:{line}:{name}"


def _rows(value: Foreign) -> int:
    """The first dimension of the first tensor or array among some values."""
    if isinstance(value, list | tuple):
        return next(filter(None, map(_rows, value)), 0)
    if isinstance(value, dict):
        return _rows(list(value.values()))
    shape = getattr(value, "shape", None)
    if (
        hasattr(value, "assign")
        or shape is None
        or len(tuple(shape)) < 1
        or not hasattr(value, "__array__")
    ):
        return 0  # a variable is no batch
    return int(shape[0] or 0)
