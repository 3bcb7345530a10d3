"""The reader of Azure's lists of requests: what it takes, and every fault that it tells."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.api.workload import InputError
from ixbench_plugins.traces.azure import HEADER, read_azure


def faults(path):
    with pytest.raises(InputError) as caught:
        read_azure(path)
    return [str(fault).replace(str(path), "F") for fault in caught.value.faults]


@pytest.mark.parametrize("name", ["code", "conv"])
def test_real_files(shared, name):
    path = shared / "data" / "traces" / "azure" / f"AzureLLMInferenceTrace_{name}_2000.csv"
    rows = read_azure(path).rows
    with path.open(newline="") as file:
        expected = [(int(row["ContextTokens"]), int(row["GeneratedTokens"])) for row in csv.DictReader(file)]
    assert [(row.input_tokens, row.output_tokens) for row in rows] == expected
    assert rows[0].arrival_ns == 0
    assert rows[0].line == 2


def test_all_seven_digits_count(shared):
    rows = read_azure(shared / "data" / "traces" / "azure" / "AzureLLMInferenceTrace_conv_2000.csv").rows
    assert rows[1].arrival_ns == 4_314_579_000


def test_times_may_have_a_zone_and_any_number_of_digits(write):
    rows = read_azure(write(HEADER, "2024-02-29 23:59:59+00:00,5,0", "2024-03-01 00:00:00.5Z,6,7", name="a.csv")).rows
    assert [(row.arrival_ns, row.input_tokens, row.output_tokens) for row in rows] == [(0, 5, 0), (1_500_000_000, 6, 7)]


ROW = "2023-11-16 18:17:03.9799600,4,5"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("2023-11-16 18:17:03.9799600,4", "has 2 cells; allowed: three"),
        ("2023-11-16 18:17:03.9799600,4,5,6", "has 4 cells"),
        ("yesterday,4,5", "TIMESTAMP: 'yesterday' is no time"),
        ("2023-02-30 18:17:03.97,4,5", "TIMESTAMP: '2023-02-30 18:17:03.97' is no time"),
        ("2023-11-16 18:17:02,4,5", "TIMESTAMP: 2023-11-16 18:17:02 is earlier than the row before it"),
        ("2023-11-16 18:17:04,0,5", "ContextTokens: is '0'"),
        ("2023-11-16 18:17:04,,5", "ContextTokens: is empty"),
        ("2023-11-16 18:17:04,4,-5", "GeneratedTokens: is '-5'"),
        ("2023-11-16 18:17:04,4,5.0", "GeneratedTokens: is '5.0'"),
        ("2023-11-16 18:17:04,4,99999999999", "GeneratedTokens: is '99999999999'"),
        ("2023-11-16 18:17:04,4,\u0665", "holds bytes that are no ASCII"),
    ],
)
def test_a_fault_of_a_row(write, row, words):
    found = faults(write(HEADER, ROW, row, name="a.csv"))
    assert len(found) == 1
    assert found[0].startswith("F: line 3")
    assert words in found[0]


def test_all_faults_are_told_at_once(write):
    assert len(faults(write("time,in,out", "x,0,y", name="a.csv"))) == 4
    assert "holds no request" in faults(write(HEADER, name="b.csv"))[0]
    assert "holds no request" in faults(write("", name="c.csv"))[0]


@given(st.lists(st.text(st.sampled_from("0123456789-: .,Zx\r"), max_size=40), max_size=5), st.booleans())
def test_whatever_stands_in_a_file_it_is_read_or_refused_with_faults(tmp_path_factory, rows, headed):
    path = tmp_path_factory.mktemp("rows") / "f.csv"
    path.write_text("\n".join([HEADER, *rows] if headed else rows))
    with pytest.raises(InputError) as caught:
        read_azure(path)
    assert all(str(path) in fault.where for fault in caught.value.faults)


@given(st.lists(st.tuples(st.integers(0, 10**11), st.integers(1, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20))
def test_what_is_written_is_read(tmp_path_factory, requests):
    path = tmp_path_factory.mktemp("rows") / "f.csv"
    requests.sort()
    rows = [f"2023-11-{16 + t // (86_400 * 10**7):02} {_clock(t)},{tokens},{out}" for t, tokens, out in requests]
    path.write_bytes("\r\n".join([HEADER, *rows]).encode())
    found = [(row.arrival_ns, row.input_tokens, row.output_tokens) for row in read_azure(path).rows]
    assert found == [((t - requests[0][0]) * 100, tokens, out) for t, tokens, out in requests]


def _clock(ticks):
    seconds, rest = divmod(ticks % (86_400 * 10**7), 10**7)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:07}"
