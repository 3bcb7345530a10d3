"""Reading never breaks: any change of a trace is either read or told, and reading at once is the same as reading value by value."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ixbench_plugins.agentx.faults import FaultList
from ixbench_plugins.agentx.stats import tree_figures
from ixbench_plugins.agentx.tree import make_tree
from ixbench_plugins.agentx.weka import read_trace
from ixbench_plugins.agentx.weka_request import RequestReader

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(["n", "s", "subagent", "local", "", "\x7f0", "a", -1, 0, 1, 2**63, 16_777_217, 1e300, 0.5, -0.0])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["t", "in", "hash_ids", "x"]), inner, max_size=3),
    max_leaves=6,
)


def good(weka):
    inner = (weka.request(0.0, [100, 101]), weka.request(2.0, [100, 101, 102], type="s", ttft=0.5))
    return weka.trace(
        weka.request(0.0, [1, 2, 3], think_time=None, stop="tool_use", input_types=["text"]),
        weka.subagent(1.5, "a", *inner, tool_tokens=64),
        weka.request(4.0, [1, 2, 3, 4], output_types=["text", "text"]),
        weka.request(9.0, [], api_time=None),
        tool_tokens=64,
        system_tokens=1,
        totals={"parts": [{"a": 1}, {"a": 2}]},
    )


def places(value, path=()):
    """Give the path of every value, the whole included."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


def outcome(text):
    """Return what reading gives: the faults, or every value of the trace."""
    found = FaultList("f.json")
    trace = read_trace(text, found)
    assert (trace is None) == (found.count > 0)
    if trace is None:
        return [str(fault) for fault in found.faults]
    assert tree_figures(make_tree(trace)).requests >= 1
    rows = [
        [getattr(request, name) for name in ("index", "start_s", "model", "input_tokens", "output_tokens", "streamed", "api_time_s")]
        + [request.think_time_s, request.ttft_s, request.input_types, request.output_types, request.stop, request.block_ids.tolist()]
        for request in trace.all_requests()
    ]
    return [trace.id, trace.models, trace.block_size, trace.tool_tokens, trace.system_tokens, rows]


@st.composite
def changed(draw, value):
    """Return a trace with a few values replaced, taken away, doubled or added."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        *before, last = draw(st.sampled_from([path for path in places(value) if path] or [("id",)]))
        holder = value
        for key in before:
            holder = holder[key]
        how = draw(st.sampled_from(["replace", "remove", "add", "double"]))
        if how == "remove":
            del holder[last]
        elif how == "replace" or isinstance(holder, dict):
            holder[last if how == "replace" else draw(st.sampled_from(["t", "ttft", "x", "requests"]))] = draw(JSON)
        else:
            holder.insert(last, draw(JSON) if how == "add" else copy.deepcopy(holder[last]))
    return value


def compared(monkeypatch, text):
    at_once = outcome(text)
    with monkeypatch.context() as patch:
        patch.setattr(RequestReader, "read_at_once", lambda self, raw, path, index: None)
        assert outcome(text) == at_once
    return at_once


def test_the_unchanged_trace_is_read(weka, monkeypatch):
    assert compared(monkeypatch, weka.data(good(weka)))[0] == "t"


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_values_are_read_or_told(weka, monkeypatch, data):
    value = data.draw(changed(good(weka)))
    compared(monkeypatch, json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass"))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_bytes_are_read_or_told(weka, monkeypatch, data):
    text = bytearray(json.dumps(good(weka), separators=data.draw(st.sampled_from([None, (",", ":")]))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from(
                [b"", b'"', b"}", b"]", b"[", b",", b"0", b"-", b"NaN", b"\x7f", b"\xff", b" ", b"\\", b":", b"1e9", b'"in":1,']
            )
        )
    compared(monkeypatch, bytes(text))


@settings(max_examples=150, deadline=None)
@given(
    lists=st.lists(st.lists(st.integers(0, 30) | st.integers(0, 2**63 - 1), max_size=6), min_size=1, max_size=12),
    indent=st.sampled_from([None, 1]),
)
def test_lists_of_ids_come_out_as_they_stand(weka, lists, indent):
    trace = weka.read(json.dumps(weka.trace(*(weka.request(0, ids) for ids in lists)), indent=indent))
    assert [request.block_ids.tolist() for request in trace.requests] == lists


@pytest.mark.parametrize("text", [b"", b"\x00", b"{}", b"[]", b'{"requests": 3}', b'"\x7f0"', b"{\x7f}"])
def test_next_to_nothing(text, monkeypatch):
    assert compared(monkeypatch, text)
