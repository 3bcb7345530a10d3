"""How sure numbers are, in print: repeats at a rung, curves that are not told apart, intervals of points."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from ixbench.model.result import Intervals
from ixbench.testing.runs import sample_point, sample_run
from ixbench_plugins.reporters.console import ConsoleOptions, ConsoleReporter
from ixbench_plugins.reporters.ladder import LadderOptions, LadderReporter
from ixbench_plugins.reporters.table import TableOptions, TableReporter

INTERVALS = Intervals(
    percentiles={"e2el_s": {"p50": (2.5, 3.5), "p99": None}, "ttft_s": {"p50": (0.1, 0.2)}},
    bootstrap={
        "ttft_s": {"p50": (0.24, 0.26)},
        "tpot_s": {"p50": (0.019, 0.021)},
        "speed_tok_s_user": {"p50": (47.5, 52.5)},
        "throughput_tok_s_gpu": {"total": (990.0, 1010.0), "output": (110.0, 112.0)},
    },
    sessions=200,
    resamples=1000,
)


def repeated(engine, rates, speed=50.0):
    names = [f"{engine}-c8{'' if number == 1 else f'-rep{number}'}" for number in range(1, len(rates) + 1)]
    return [
        sample_point(name, speed_tok_s_user=speed, rate_tok_s_gpu=rate, engine=engine, deployment=engine, repeat=number)
        for number, (name, rate) in enumerate(zip(names, rates, strict=True), start=1)
    ]


def texts(*points, **fields):
    run = sample_run(*points, **fields)
    (console,) = ConsoleReporter().render([run], ConsoleOptions(width=200))
    ladder, _ = LadderReporter().render([run], LadderOptions())
    return [" ".join(text.content.split()) for text in (console, ladder)]


THREE = {"campaign": {"run": {"repeats": 3}}}


def test_a_rung_has_its_interval_and_the_number_of_repeats():
    for text in texts(*repeated("vllm", [1000.0, 1010.0, 990.0]), **THREE):
        assert "At 50 tok/s/user: 1,000 +- 24.8 tok/s/GPU with vllm" in text
        assert "exact, 3 repeats" in text
        assert "Repeats: 3 runs of each point." in text
        assert "1 run" not in text


def test_one_run_says_so():
    for text in texts(*repeated("vllm", [1000.0])):
        assert "Repeats: 1 run of each point" in text
        assert "+-" not in text


def test_both_are_named_where_they_cannot_be_told_apart():
    points = [*repeated("vllm", [1000.0, 1010.0, 990.0]), *repeated("atom", [1005.0, 985.0, 995.0])]
    for text in texts(*points, **THREE):
        assert "not told apart from atom" in text
        assert "vllm and atom cannot be told apart, 1,000 and 995 tok/s/GPU differ by no more than 3 and 3 repeats scatter" in text


def test_one_is_named_where_they_can():
    points = [*repeated("vllm", [1000.0, 1010.0, 990.0]), *repeated("atom", [800.0, 790.0, 795.0])]
    assert all("told apart from" not in text for text in texts(*points, **THREE))


def test_a_rung_that_some_repeats_miss_has_no_value():
    points = repeated("vllm", [1000.0, 1010.0])
    for text in texts(*points, **THREE):
        assert "vllm reached it in 2 of 3 repeats" in text
        assert "so it has no mean there and does not compete" in text


@pytest.fixture
def table():
    """Return the artifacts of a point with intervals and one without."""
    points = [sample_point(f"vllm-c{users}", speed_tok_s_user=50.0, rate_tok_s_gpu=1000.0, concurrency=users) for users in (8, 16)]
    run = sample_run(replace(points[0], intervals=INTERVALS), points[1])
    return {one.name: one.content for one in TableReporter().render([run], TableOptions())}


def test_intervals_stand_beside_their_numbers(table):
    one, other = json.loads(table["table.json"])["points"]
    assert (one["axis_low_tok_s_user"], one["axis_high_tok_s_user"]) == (47.5, 52.5)
    assert (one["ttft_p50_low_s"], one["ttft_p50_high_s"]) == (0.24, 0.26), "a headline number has the bootstrap's"
    assert (one["e2el_p50_low_s"], one["e2el_p99_low_s"], one["ttft_p99_low_s"]) == (2.5, None, None)
    assert (one["total_low_tok_s_gpu"], one["total_high_tok_s_gpu"]) == (990.0, 1010.0)
    assert {value for name, value in other.items() if "_low_" in name or "_high_" in name} == {None}
    rows = list(csv.DictReader(io.StringIO(table["table.csv"])))
    assert (rows[0]["axis_low_tok_s_user"], rows[1]["axis_low_tok_s_user"]) == ("47.5", "")


def test_the_page_has_a_table_of_intervals(table):
    text = table["table.md"]
    section = text[text.index("## Intervals") :].partition("\n## ")[0]
    assert "| vllm-c8 | 47.5 to 52.5 | 240 ms to 260 ms |" in section
    assert "2500 ms to 3500 ms | - | - |" in section
    assert "| 990 to 1,010 | 110 to 112 | 200 |" in section
    assert "vllm-c16 |" not in section


def test_without_intervals_there_is_no_table():
    run = sample_run(sample_point("vllm-c8", speed_tok_s_user=50.0, rate_tok_s_gpu=1000.0))
    markdown = next(one.content for one in TableReporter().render([run], TableOptions()) if one.name == "table.md")
    assert "## Intervals" not in markdown
