"""Found first on PYTHONPATH: starts the recording, then runs the user's own sitecustomize."""

from __future__ import annotations

import os
import sys
import time


def _enter() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    folder = os.environ.get("UNSLOW_RUN")
    if folder:
        began = time.perf_counter_ns()
        before = _resident()
        try:
            _load(os.path.dirname(os.path.dirname(here)))
            from unslow.record.engine.start import Recording

            recording = Recording(folder, os.environ.get("UNSLOW_TRIAL", ""))
            recording.start()
            recording.own_bytes = _resident() - before
            recording.recorder.spent("start", time.perf_counter_ns() - began)
        except Exception as problem:  # noqa: BLE001 - the recorder must not stop the program
            _tell(folder, problem)


def _resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _load(package: str) -> None:
    """Make `unslow` importable, but nothing else of its environment."""
    import importlib.util

    if "unslow" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "unslow", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no unslow in {package}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["unslow"] = module
    spec.loader.exec_module(module)


def _tell(folder: str, problem: BaseException) -> None:
    try:
        with open(os.path.join(folder, f"failed-{os.getpid()}.txt"), "w", encoding="utf-8") as file:
            file.write(f"{type(problem).__name__}: {problem}\n")
    except OSError:
        pass


def _chain() -> None:
    """Run the sitecustomize that would have been found without us."""
    import importlib.machinery

    del sys.modules["sitecustomize"]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        sys.modules["sitecustomize"] = _SELF
        return
    import importlib.util

    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_SELF = sys.modules[__name__]
_enter()
_chain()
