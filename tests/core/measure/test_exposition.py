from __future__ import annotations

import time
from pathlib import Path

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from ixbench.host.load import load_host
from ixbench.measure.exposition import WindowFold, engine_window, read_exposition
from ixbench.model.engine_metrics import EngineMetrics, MetricAlias

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "metrics"
COMPARED = {
    "prompt_tokens", "generation_tokens", "prefix_cache_hits", "prefix_cache_queries", "external_cache_hits", "external_cache_queries",
    "preemptions", "accepted_tokens", "drafted_tokens", "kv_usage", "running", "waiting",
}  # fmt: skip


def alias(canonical, *names, **more):
    return MetricAlias(canonical=canonical, names=names, **more)


SGLANG = EngineMetrics(
    aliases=(
        alias("running", "sglang:num_running_reqs"),
        alias("waiting", "sglang:num_queue_reqs"),
        alias("kv_usage", "sglang:token_usage"),
        alias("prompt_tokens", "sglang:prompt_tokens"),
        alias("generation_tokens", "sglang:generation_tokens"),
        alias("prefix_cache_hits", "sglang:cached_tokens", labels={"cache_source": "device"}),
        alias("prefix_cache_queries", "sglang:prompt_tokens"),
        alias("external_cache_hits", "sglang:cached_tokens", labels={"cache_source": "!device"}),
        alias("finished", "sglang:num_requests"),
    ),
    one_rank="tp_rank",
)
"""No adapter of SGLang is here to ask."""
PAIRS = tomli.loads((FOLDER / "expected.toml").read_text())["pair"] if FOLDER.is_dir() else []


@pytest.mark.usefixtures("shared")
def test_there_are_pairs():
    assert len(PAIRS) == 10


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["name"])
def test_recorded_pages_say_what_they_should(pair):
    metrics = SGLANG if pair["engine"] == "sglang" else load_host().engine(pair["engine"]).metrics()
    window = engine_window(read_exposition((FOLDER / name).read_bytes(), metrics) for name in pair["scrapes"])
    assert {name: value for name, value in window.delta.items() if name in COMPARED} == pair["delta"]
    assert window.reset is pair["reset"]
    assert set(window.missing) & COMPARED == set(pair["missing"])
    assert window.scrapes == len(pair["scrapes"])
    assert window.maximum == {name: pair[f"{name}_max"] for name in ("running", "waiting", "kv_usage") if f"{name}_max" in pair}


def page(*lines):
    return "\n".join(lines) + "\n"


ONE = EngineMetrics(aliases=(alias("generation_tokens", "x:tokens"), alias("running", "x:running")))


def total(*lines, metrics=ONE):
    return read_exposition(page(*lines), metrics).totals()


@pytest.mark.parametrize(
    "line",
    [
        "x:tokens 3", "x:tokens_total 3", "x:tokens_total\t3", "  x:tokens_total 3", "x:tokens{} 3", 'x:tokens{a="b"} 3.0 1718000000123',
        'x:tokens{a="} 9 \\" \\n\\\\",} 3e0', 'x:tokens_total{a="b"} 3.0\r',
    ],
)  # fmt: skip
def test_a_counter_is_found_in_every_spelling(line):
    assert total(line) == {"generation_tokens": 3.0}


@pytest.mark.parametrize(
    "lines",
    [
        ["x:tokens_created 17"], ["x:tokens_total_created 17"], ["my_x:tokens 17"], ["x:tokens_total_sum 17"], ["x:tokens_totals 17"],
        ['x:tokens_total_bucket{le="1"} 17'], ["# TYPE x:tokens_total summary", 'x:tokens_total{quantile="0.5"} 17'],
        ["# TYPE x:tokens histogram", "x:tokens 17"], ["# HELP x:tokens 17"], ["x:running_total 17"], ["x:tokens NaN"], ["x:tokens +Inf"],
        ["x:tokens"], ["x:tokens "], ["x:tokens seventeen"], ['x:tokens{a="b" 17'], ['x:tokens{a="b} 17'], ["x:tokens{a=b} 17"],
        ["x:tokens " + "9" * 5000], ["# TYPE x:tokens gaugehistogram", "x:tokens 17"],
    ],
)  # fmt: skip
def test_what_is_no_counter_is_not_taken_for_one(lines):
    assert total(*lines) == {}


@pytest.mark.parametrize(("length", "found"), [(4096, {"generation_tokens": 3.0}), (4097, {})])
def test_a_line_may_be_long(length, found):
    assert total(f'x:tokens{{a="{"b" * (length - 18)}"}} 3.0') == found


def test_so_many_lines_are_read_and_no_more():
    assert total(*(f'x:tokens{{a="{number}"}} 1' for number in range(10_003))) == {"generation_tokens": 10_000.0}


@pytest.mark.parametrize("as_bytes", [True, False])
@pytest.mark.parametrize(("over", "found"), [(0, 123456.0), (1, None), (4, None), (7, None), (100, None)])
def test_a_page_that_is_too_long_ends_with_its_last_whole_line(as_bytes, over, found):
    """Half a number is another number, and a counter that goes down is a restart."""
    last = "x:tokens 123456"
    text = "x:running 2\n" + "#" * (4 * 2**20 - 12 - 1 - len(last) + over) + "\n" + last
    assert len(text) == 4 * 2**20 + over
    totals = read_exposition(text.encode() if as_bytes else text, ONE).totals()
    assert totals == {"running": 2.0} | ({} if found is None else {"generation_tokens": found})


def test_a_reading_tells_what_it_cost():
    before = time.thread_time()
    assert 0 <= read_exposition(page("x:tokens 3"), ONE).cpu_s <= time.thread_time() - before


def test_a_broken_line_costs_itself_only():
    assert total('x:tokens{a="1} 4', 'x:tokens{a="2"} 5', "\x00\x1b[31m", 'x:tokens{a="3"} 6') == {"generation_tokens": 11.0}


def test_the_newest_name_counts_and_spellings_are_not_added_up():
    both = EngineMetrics(aliases=(alias("kv_usage", "new", "old"), alias("finished", "done")))
    assert total("old 0.5", "new 0.25", "done 4", "done_total 4", metrics=both) == {"kv_usage": 0.25, "finished": 4.0}
    assert total("old 0.5", metrics=both) == {"kv_usage": 0.5}


def test_a_series_that_is_first_counted_in_the_window_began_at_zero():
    pages = [page('x:tokens{a="1"} 5'), page('x:tokens{a="1"} 7', 'x:tokens{a="2"} 3')]
    assert engine_window(read_exposition(text, ONE) for text in pages).delta == {"generation_tokens": 5.0}


def test_the_order_of_labels_makes_no_other_series():
    pages = [page('x:tokens{a="1",b="2"} 5'), page('x:tokens{b="2",a="1"} 7')]
    assert engine_window(read_exposition(text, ONE) for text in pages).delta == {"generation_tokens": 2.0}


def test_of_ranks_that_say_the_same_the_first_counts_and_so_does_one_that_has_no_number():
    ranked = EngineMetrics(aliases=(alias("generation_tokens", "x:tokens"),), one_rank="rank")
    assert total('x:tokens{rank="0"} 5', 'x:tokens{rank="1"} 5', "x:tokens 2", metrics=ranked) == {"generation_tokens": 7.0}


@pytest.mark.parametrize(("wanted", "found"), [("", 4.0), ("!", 3.0), ("a", 3.0), ("!a", 4.0)])
def test_a_label_that_is_not_there_is_an_empty_one(wanted, found):
    labelled = EngineMetrics(aliases=(alias("finished", "done", labels={"kind": wanted}),))
    assert total("done 4", 'done{kind="a"} 3', metrics=labelled) == {"finished": found}


def test_what_the_page_no_longer_offers_is_missing():
    pages = [page("x:tokens 5", "x:running 1"), page("x:tokens 7", "x:running 1"), page("x:running 1")]
    window = engine_window(read_exposition(text, ONE) for text in pages)
    assert window.delta == {}
    assert "generation_tokens" in window.missing


def test_a_page_without_anything_is_no_beginning():
    window = engine_window(read_exposition(text, ONE) for text in ["", page("x:tokens 100"), "", page("x:tokens 104"), ""])
    assert (window.delta, window.reset, window.scrapes) == ({"generation_tokens": 4.0}, False, 5)


def test_one_scrape_knows_no_increase_but_the_gauges():
    window = engine_window([read_exposition(page("x:tokens 100", "x:running 2"), ONE)])
    assert (window.delta, window.maximum) == ({}, {"running": 2.0})
    assert "generation_tokens" in window.missing
    assert "running" not in window.missing


def test_a_restart_between_two_scrapes_is_found_in_one_of_many_series():
    pages = [page('x:tokens{a="1"} 50', 'x:tokens{a="2"} 10'), page('x:tokens{a="1"} 4', 'x:tokens{a="2"} 90')]
    window = engine_window(read_exposition(text, ONE) for text in pages)
    assert (window.delta, window.reset) == ({"generation_tokens": 84.0}, True)


def test_a_restart_is_not_forgotten():
    window = engine_window(read_exposition(page(f"x:tokens {value}"), ONE) for value in (50, 4, 9, 11))
    assert (window.delta, window.reset) == ({"generation_tokens": 11.0}, True)


@pytest.mark.parametrize(
    ("before", "after", "reset"),
    [("100", "101.0", False), ("100", "101.1", True), ("100", "99", False), ("100", None, False), (None, "100", False)],
)
def test_a_start_is_another_one_from_a_second_on(before, after, reset):
    def text(tokens, start):
        return page(f"x:tokens {tokens}", *([] if start is None else [f"process_start_time_seconds {start}"]))

    window = engine_window(read_exposition(one, ONE) for one in (text(50, before), text(60, after)))
    assert window.reset is reset
    assert window.delta == {"generation_tokens": 60.0 if reset else 10.0}


def test_a_restart_shows_in_the_start_time_where_counters_overtook():
    pages = [
        page("x:tokens 50", "process_start_time_seconds 1.78720000012e+09"),
        page("x:tokens 60", "process_start_time_seconds 1.78720000912e+09"),
    ]
    window = engine_window(read_exposition(text, ONE) for text in pages)
    assert (window.delta, window.reset) == ({"generation_tokens": 60.0}, True)


@given(st.binary() | st.text().map(lambda text: f"x:tokens{text}\nx:running{{{text}}} 1\n# TYPE x:tokens {text}\n".encode()))
def test_any_bytes_give_a_reading(content):
    fold = WindowFold()
    for text in (b"x:tokens 1", content, content[::-1]):
        fold.add(read_exposition(text, ONE))
    assert fold.window().scrapes == 3


@given(st.lists(st.integers(min_value=0, max_value=10**6), min_size=2, max_size=20))
def test_increases_of_a_counter_that_never_falls_add_up(steps):
    values = [sum(steps[: number + 1]) for number in range(len(steps))]
    window = engine_window(read_exposition(page(f"x:tokens {value}"), ONE) for value in values)
    assert window.delta == {"generation_tokens": values[-1] - values[0]}
    assert not window.reset
