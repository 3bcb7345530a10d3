"""The floor of the client, against the server that answers at once."""

from __future__ import annotations

import subprocess
import sys

import anyio
import pytest

from ixbench.replay import floor
from ixbench.replay.floor import FloorError, measure_floor


def test_what_the_client_adds_and_can_take():
    found = anyio.run(lambda: measure_floor(requests=20, capacity=True))
    assert 0 < found.floor_s <= found.floor_p99_s
    assert found.floor_s < 1, "a server on loopback that answers at once"
    assert found.requests == 20
    assert found.chunks_per_s > 0
    assert found.cpu_s_per_1000_chunks > 0


def test_only_the_floor():
    found = anyio.run(lambda: measure_floor(requests=5))
    assert (found.chunks_per_s, found.cpu_s_per_1000_chunks) == (None, None)


def test_a_server_that_does_not_start(monkeypatch):
    monkeypatch.setattr(floor.sys, "executable", "/bin/false")
    with pytest.raises(FloorError, match="did not start"):
        anyio.run(measure_floor)


def test_the_server_ends_with_its_stdin():
    with subprocess.Popen([sys.executable, "-m", "ixbench.replay.instant"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert int(process.stdout.readline()) > 0
        process.stdin.close()
        assert process.wait(20) == 0


def test_the_command(capsys):
    import json

    from ixbench.cli.main import main

    assert main(["calibrate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"floor_s", "floor_p99_s", "requests", "clock", "chunks_per_s", "cpu_s_per_1000_chunks"}
    assert main(["calibrate"]) == 0
    assert "floor (TTFT)" in capsys.readouterr().out
