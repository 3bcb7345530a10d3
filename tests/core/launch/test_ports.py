from __future__ import annotations

import socket
import subprocess
import sys

from ixbench.launch.ports import candidates, ephemeral_range, is_listening, lease_ports


def test_ports_lie_outside_the_range_that_the_kernel_hands_out():
    first, last = ephemeral_range()
    with lease_ports(["http", "master"]) as lease:
        assert list(lease.numbers) == ["http", "master"]
        assert len(set(lease.numbers.values())) == 2
        assert all(not first <= port <= last for port in lease.numbers.values())


def test_the_range_file_may_be_missing_or_broken(tmp_path):
    assert ephemeral_range(tmp_path / "absent") == (32_768, 60_999)
    (tmp_path / "broken").write_text("many ports")
    assert ephemeral_range(tmp_path / "broken") == (32_768, 60_999)
    (tmp_path / "own").write_text("15000\t61000\n")
    assert ephemeral_range(tmp_path / "own") == (15_000, 61_000)


def test_ports_of_a_very_wide_range_are_used_as_a_last_resort():
    assert next(candidates((1024, 65_535))) == 20_000
    assert next(candidates((15_000, 61_000))) == 61_001
    assert sorted(candidates((32_768, 60_999))) == list(range(20_000, 65_536))


def test_a_leased_port_is_given_to_nobody_else_until_released():
    with lease_ports(["http"]) as first:
        with lease_ports(["http"]) as second:
            assert first.numbers["http"] != second.numbers["http"]
        with lease_ports(["http"]) as third:
            assert third.numbers == second.numbers
    with lease_ports(["http"]) as again:
        assert again.numbers == first.numbers


OTHER_RUN = """
import sys
from ixbench.launch.ports import lease_ports
with lease_ports(["a", "b"]) as lease:
    print(*lease.numbers.values(), flush=True)
    sys.stdin.read()
"""


def test_two_processes_at_once_get_different_ports():
    runs = [subprocess.Popen([sys.executable, "-c", OTHER_RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        ports = [port for run in runs for port in run.stdout.readline().split()]
    finally:
        for run in runs:
            run.communicate()
    assert len(set(ports)) == 4
    assert [run.returncode for run in runs] == [0, 0]


def test_a_port_that_is_bound_by_anyone_is_passed_over():
    with lease_ports(["http"]) as lease:
        port = lease.numbers["http"]
    with socket.create_server(("127.0.0.1", port)):
        assert is_listening(port)
        with lease_ports(["http"]) as other:
            assert other.numbers["http"] != port
    assert not is_listening(port)
