"""The numbers of the last run of each experiment, in results.json beside this file."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from bench.claims.experiment import Result

RESULTS = Path(__file__).with_name("results.json")
# What decides whether 16-bit numbers are computed as such or converted to and fro.
_NARROW = ("avx512_fp16", "avx512_bf16", "amx_bf16", "amx_fp16", "asimdhp", "bf16")


@dataclass(frozen=True, slots=True)
class Kept:
    """All results by the id of their experiment, and what kind of machine they are from."""

    machine: dict[str, str]
    results: dict[str, Result]


def read() -> Kept:
    if not RESULTS.exists():
        return Kept({}, {})
    raw = json.loads(RESULTS.read_text(encoding="utf-8"))
    return Kept(raw["machine"], {name: Result(**result) for name, result in raw["results"].items()})


def keep(name: str, result: Result) -> None:
    """Put one result beside the others at once, so that a run that is stopped loses nothing."""
    results = {**read().results, name: result}
    whole = {
        "machine": machine(),
        "results": {key: asdict(results[key]) for key in sorted(results)},
    }
    fresh = RESULTS.with_suffix(".new")
    fresh.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    fresh.replace(RESULTS)


def machine() -> dict[str, str]:
    flags = set(Path("/proc/cpuinfo").read_text().split())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "TensorFlow": _version("tensorflow-cpu", "tensorflow"),
        "Keras": _version("keras"),
        "Python": platform.python_version(),
        "processor": f"{platform.machine()}, {os.cpu_count()} cores",
        "16-bit arithmetic": ", ".join(flag for flag in _NARROW if flag in flags)
        or "none in the processor",
        "memory": f"{memory / 2**30:.0f} GiB",
        "GPU": "present" if Path("/dev/nvidia0").exists() else "none",
    }


def _version(*names: str) -> str:
    for name in names:
        try:
            return version(name)
        except ImportError:
            continue
    return "unknown"
