"""The cluster of `unslow run --workers`."""

from __future__ import annotations

import json
import socket

import pytest

from unslow.errors import UnslowError
from unslow.proof import cluster
from unslow.proof.cluster import (
    Cluster,
    doubts_about,
    free_ports,
    has_peers,
    must_have_no_cluster,
)


def test_every_worker_gets_the_same_cluster_and_its_own_place() -> None:
    configurations = [json.loads(text) for text in Cluster(3).configurations().values()]
    assert {json.dumps(each["cluster"]) for each in configurations} == {
        json.dumps(configurations[0]["cluster"])
    }
    assert [each["task"] for each in configurations] == [
        {"type": "worker", "index": index} for index in range(3)
    ]
    assert len(set(configurations[0]["cluster"]["worker"])) == 3


def test_parameter_servers_come_with_a_chief_that_leads_the_job() -> None:
    job = Cluster(2, 1)
    assert [task.name for task in job.tasks] == ["chief 0", "worker 0", "worker 1", "ps 0"]
    assert job.led and not Cluster(2).led


def test_ports_are_free_and_outside_the_range_of_outgoing_connections() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(20_000 <= port < 32_768 for port in ports)


def test_a_port_that_is_listened_on_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not cluster.is_free("127.0.0.1", port)
        monkeypatch.setattr(cluster, "_PORTS", range(port, port + 1))
        with pytest.raises(UnslowError, match="not enough free ports"):
            free_ports(1)


def test_workers_are_not_started_inside_a_cluster() -> None:
    must_have_no_cluster({"TF_CONFIG": "{}"})
    with pytest.raises(UnslowError, match="already part of a cluster"):
        must_have_no_cluster({"TF_CONFIG": '{"cluster": {"worker": ["a:1"]}}'})


@pytest.mark.parametrize(
    ("value", "doubt"),
    [
        ("", ""),
        ("{}", ""),
        ('{"cluster": ', "not JSON"),
        ("[1]", "does not say which task"),
        ('{"task": {"type": "worker", "index": 0}}', "has no 'cluster'"),
        ('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 3}}', "no address"),
        ('{"cluster": {"worker": ["elsewhere:1"]}, "task": {"type": "worker", "index": 0}}', ""),
    ],
)
def test_a_configuration_that_cannot_work_is_named(value: str, doubt: str) -> None:
    found = doubts_about(value)
    assert doubt in found and bool(found) == bool(doubt)


def test_a_port_in_use_is_named_before_the_training_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        task = {"type": "worker", "index": 0}
        value = json.dumps({"cluster": {"worker": [address]}, "task": task})
        assert f"listens on {address}" in doubts_about(value)


@pytest.mark.parametrize(
    ("value", "peers"),
    [
        ('{"cluster": {"worker": ["a:1", "b:1"]}}', True),
        ('{"cluster": {"worker": ["a:1"], "chief": ["b:1"]}}', True),
        ('{"cluster": {"worker": ["a:1"]}}', False),
        ('{"cluster": []}', False),
        ("{}", False),
        ("oops", False),
        ("", False),
    ],
)
def test_a_cluster_of_one_has_no_peers(value: str, peers: bool) -> None:
    assert has_peers(value) is peers
