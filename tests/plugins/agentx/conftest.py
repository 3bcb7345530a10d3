"""Small traces, as files hold them and as they are read."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from ixbench.api.workload import InputError
from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.agentx.weka import read_trace


def request(t, ids, *, out=100, api_time=1.0, model="big", **more):
    """Return one request; `ids` are block ids, or how many blocks it has."""
    ids = list(range(ids)) if isinstance(ids, int) else list(ids)
    return {"t": t, "type": "n", "model": model, "in": max(len(ids), 1) * 64, "out": out, "hash_ids": ids, "api_time": api_time} | more


def subagent(t, name, *requests, duration_ms=1000, **more):
    """Return one subagent entry."""
    entry = {"t": t, "type": "subagent", "agent_id": name, "subagent_type": "Explore", "status": "completed", "models": ["small"]}
    return entry | {"requests": list(requests), "duration_ms": duration_ms} | more


def trace(*entries, **more):
    """Return one trace."""
    return {"id": "t", "models": ["big"], "block_size": 64, "hash_id_scope": "local", "requests": list(entries)} | more


def data(value):
    """Return a trace as bytes."""
    return value if isinstance(value, bytes) else (value if isinstance(value, str) else json.dumps(value)).encode()


def faults(value):
    """Return what is wrong with a trace, as sentences."""
    found = FaultList("f.json")
    made = read_trace(data(value), found)
    try:
        found.raise_any()
    except InputError as error:
        assert made is None
        return [str(fault) for fault in error.faults]
    assert made is not None
    return []


def read(value):
    """Return a trace that has no fault."""
    found = FaultList("f.json")
    made = read_trace(data(value), found)
    found.raise_any()
    return made


@pytest.fixture(scope="session")
def weka():
    return SimpleNamespace(request=request, subagent=subagent, trace=trace, data=data, faults=faults, read=read)
