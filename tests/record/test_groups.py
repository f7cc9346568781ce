"""The limits of control groups, read from folders like the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from unslow.record.probes.machine.control_groups import Groups

UNLIMITED = 9223372036854771712  # what version 1 says where there is no limit


def write(root: Path, files: dict[str, object]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")


def seen(root: Path, own: str, files: dict[str, object]) -> Groups:
    write(root, {**files, "own": own})
    return Groups(str(root), str(root / "own"))


def test_version_2_inside_a_container(tmp_path: Path) -> None:
    files: dict[str, object] = {
        "memory.max": 2 << 30,
        "memory.current": 1 << 30,
        "cpu.max": "150000 100000",
        "cpu.stat": "usage_usec 9\nthrottled_usec 2500000",
        "memory.pressure": "some avg10=0 total=3000000\nfull total=1",
        "io.pressure": "some avg10=0 total=4000000",
    }
    group = seen(tmp_path, "0::/", files)
    assert group.limit == 2 << 30 and group.quota == 1.5
    assert group.used() == {"group_bytes": float(1 << 30), "throttled": 2.5}
    assert group.stalled() == {"memory_stall": 3.0, "io_stall": 4.0}


def test_version_2_without_a_container_finds_the_limit_of_a_group_above(tmp_path: Path) -> None:
    """A job of a cluster: its limit stands two levels above the process."""
    files: dict[str, object] = {
        "slice/job/memory.max": 4 << 30,
        "slice/job/memory.current": 3 << 30,
        "slice/job/step/memory.max": "max",
        "slice/job/step/task/memory.max": "max",
        "slice/job/step/task/memory.current": 7,
        "slice/memory.max": 8 << 30,
        "slice/job/step/cpu.max": "max 100000",
        "slice/job/cpu.max": "400000 100000",
    }
    group = seen(tmp_path, "0::/slice/job/step/task", files)
    assert group.limit == 4 << 30 and group.quota == 4
    assert group.used()["group_bytes"] == 3 << 30


def test_version_1_beside_an_empty_version_2(tmp_path: Path) -> None:
    files: dict[str, object] = {
        "memory/memory.limit_in_bytes": UNLIMITED,
        "memory/a/memory.limit_in_bytes": 1 << 30,
        "memory/a/memory.usage_in_bytes": 5,
        "cpu/cpu.cfs_quota_us": 50000,
        "cpu/cpu.cfs_period_us": 100000,
        "cpu/cpu.stat": "nr_throttled 3\nthrottled_time 1500000000",
    }
    group = seen(tmp_path, "4:memory:/a\n1:cpu,cpuacct:/\n0::/", files)
    assert group.limit == 1 << 30 and group.quota == 0.5
    assert group.used() == {"group_bytes": 5.0, "throttled": 1.5}


def test_a_container_that_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    """Version 1 without a namespace: the path is the host's, and not there."""
    group = seen(tmp_path, "4:memory:/docker/0123", {"memory/memory.limit_in_bytes": 3 << 30})
    assert group.limit == 3 << 30


@pytest.mark.parametrize("own", ["", "nonsense", "0::/gone"])
def test_no_limits_and_nothing_to_read(tmp_path: Path, own: str) -> None:
    group = seen(tmp_path, own, {})
    assert (group.limit, group.quota) == (0, 0.0) and group.used() == {}
    assert set(group.stalled()) <= {"memory_stall", "io_stall"}  # the machine's own


def test_without_a_quota_version_1_says_minus_one(tmp_path: Path) -> None:
    assert (
        seen(
            tmp_path, "1:cpu:/", {"cpu/cpu.cfs_quota_us": -1, "cpu/cpu.cfs_period_us": 100000}
        ).quota
        == 0
    )
