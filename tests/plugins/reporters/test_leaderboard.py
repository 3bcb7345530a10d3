"""The leaderboard: who wins each cell, by what, since when; and nothing stands beside what it cannot be held against."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ixbench.api.report import ImportSource, InputError, Quote, ReportSettings
from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.report.load import load_runs
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import SAMPLE_QUOTES, SAMPLE_SKU, sample_point, sample_run, too_short
from ixbench_plugins.reporters.leaderboard import LeaderboardReporter
from ixbench_plugins.reporters.lots import lots_of, model_names, work_names


def a_run(day, *points, **fields):
    """Return a run of a day; each point is read at 50 tok/s/user by being there."""
    run = sample_run(*points, id=f"2026{day.replace('-', '')}T000000Z-run", started=f"2026-{day}T06:00:00Z")
    return replace(run, **fields)


def at_50(engine, rate, **identity):
    return sample_point(f"{engine}-c8", speed_tok_s_user=50, rate_tok_s_gpu=rate, engine=engine, **identity)


def board(*runs, **options):
    reporter = LeaderboardReporter()
    found = {file.name: file.content for file in reporter.render(runs, reporter.Options(**options))}
    assert list(found) == ["leaderboard.html", "leaderboard.md", "leaderboard.json"]
    return json.loads(found["leaderboard.json"]), found["leaderboard.md"], found["leaderboard.html"]


def cells(found, number=0):
    """Return (rate, engine, kind of change, share) by model and SKU."""
    return {
        (cell["model"], cell["sku"]): (
            cell["reading"]["tok_s_gpu"],
            cell["reading"]["engine"],
            cell["change"]["kind"],
            cell["change"]["share"],
        )
        for cell in found["boards"][number]["cells"]
    }


MI355X, M7 = "AMD Instinct MI355X", "acme/Model-7B"


def test_the_best_engine_wins_and_is_compared_with_days_ago():
    runs = [a_run("11-20", at_50("vllm", 4000)), a_run("11-30", at_50("vllm", 4200), at_50("atom", 4400))]
    found, markdown, _ = board(*runs)
    assert (found["as_of"], found["before"]) == ("2026-11-30", "2026-11-23")
    assert cells(found) == {(M7, MI355X): (4400, "atom", "changed", pytest.approx(0.1))}
    assert found["boards"][0]["cells"][0]["change"]["took_over"] is True
    assert "4,400, ATOM fp4, $0.095 /1M, +10.0 %, was vLLM fp4" in markdown.replace("\\", "")
    ranks = [(entry["reading"]["engine"], entry["fastest"], entry["cheapest"]) for entry in found["boards"][0]["entries"]]
    assert ranks == [("atom", 1, 1), ("vllm", 2, 2)]
    shares = {entry["reading"]["engine"]: (entry["change"]["kind"], entry["change"]["share"]) for entry in found["boards"][0]["entries"]}
    assert shares == {"atom": ("new", None), "vllm": ("changed", pytest.approx(0.05))}


@pytest.mark.parametrize(
    ("before", "now", "kind", "words"),
    [
        (at_50("vllm", 4000), None, "same", "unchanged"),
        (None, at_50("vllm", 4000), "new", "new"),
        (at_50("vllm", 4000), at_50("vllm", 4000), "changed", "0.0 %"),
        (sample_point("vllm-c1", speed_tok_s_user=40, rate_tok_s_gpu=5000), at_50("vllm", 4000), "gained", "was unreachable"),
        (at_50("vllm", 4000), sample_point("vllm-c1", speed_tok_s_user=40, rate_tok_s_gpu=5000), "lost", "was 4,000 with vLLM fp4"),
        (at_50("vllm", 4000, verdict=too_short(7)), at_50("vllm", 4000), "new", "new"),
    ],
)
def test_what_became_of_a_cell(before, now, kind, words):
    other = at_50("vllm", 1, model="other")  # gives the two dates
    runs = [a_run("11-01", *filter(None, [before, replace(other, id="x")])), a_run("11-30", *filter(None, [now, replace(other, id="x")]))]
    found, markdown, html = board(*runs)
    assert cells(found)[M7, MI355X][2] == kind
    assert words in markdown
    assert words in html


def test_days_and_dates_can_be_chosen():
    runs = [a_run("11-01", at_50("vllm", 3000)), a_run("11-20", at_50("vllm", 4000)), a_run("11-30", at_50("vllm", 5000))]
    assert cells(board(*runs)[0])[M7, MI355X] == (5000, "vllm", "changed", 0.25)
    assert cells(board(*runs, days=20)[0])[M7, MI355X] == (5000, "vllm", "changed", pytest.approx(2 / 3))
    assert cells(board(*runs, days=300)[0])[M7, MI355X] == (5000, "vllm", "new", None)
    found, _, _ = board(*runs, as_of="2026-11-21", days=10)
    assert cells(found)[M7, MI355X] == (4000, "vllm", "changed", pytest.approx(1 / 3))


def test_measured_imported_and_simulated_never_share_a_board():
    imported = replace(
        at_50("vllm", 9000),
        origin="imported",
        provenance=ImportSource(importer="rows", file="f", sha256="0", schema="s", date="2026-11-30").to_provenance(),
    )
    run = a_run("11-30", at_50("vllm", 4000), replace(imported, id="b"), replace(at_50("vllm", 8000, evidence="simulated"), id="c"))
    found, markdown, html = board(run)
    assert [(one["style"], one["cells"][0]["reading"]["tok_s_gpu"]) for one in found["boards"]] == [
        ("measured", 4000),
        ("imported", 9000),
        ("simulated", 8000),
    ]
    assert markdown.count("(IMPORTED)") == markdown.count("(SIMULATED)") == 1
    assert "no engine ran and nothing was measured" in html


def test_other_work_is_another_board_and_other_models_and_skus_are_cells():
    runs = [
        a_run("11-30", at_50("vllm", 4000), replace(at_50("vllm", 6000, hardware="b200", model="acme/Model-14B"), id="b")),
        a_run("11-29", at_50("vllm", 7000, input_tokens=8192)),
        a_run("11-28", at_50("vllm", 7500), campaign={"workload": {"use": "fixed", "seed": 7}}),
        a_run("11-27", at_50("vllm", 7600), campaign={"model": {"revision": "abc"}}),
    ]
    found, markdown, _ = board(*runs)
    assert len(found["boards"]) == 3
    assert [one["work"] for one in found["boards"]] == [
        "fixed sequence lengths, 1,024 input and 128 output tokens, no seed",
        "fixed sequence lengths, 1,024 input and 128 output tokens, seed 7",
        "fixed sequence lengths, 8,192 input and 128 output tokens",
    ]
    (plain,) = [one for one in found["boards"] if len(one["cells"]) > 1]
    assert plain["models"] == ["acme/Model-14B", f"{M7}, no revision", f"{M7}, revision abc"]
    assert plain["skus"] == [MI355X, "B200"]
    assert "| acme/Model-14B | - | 6,000" in markdown


def test_points_that_do_not_count_are_counted_and_no_more():
    run = a_run("11-30", at_50("vllm", 4000), replace(at_50("vllm", 9000, verdict=too_short(7)), id="b"))
    found, _, _ = board(run)
    assert cells(found)[M7, MI355X][0] == 4000
    assert (found["boards"][0]["points"], found["boards"][0]["left_out"]) == (1, 1)


def test_costs_are_at_one_book():
    old = tuple(replace(quote, book="2026-01", as_of="2026-01-01", usd_per_gpu_hour=9.0) for quote in SAMPLE_QUOTES)
    custom = (Quote(book="custom", sku="mi300x", tier="custom", label="ours", usd_per_gpu_hour=0.1, as_of="", source=""),)
    runs = [
        a_run("11-30", at_50("vllm", 4000), quotes=old),
        a_run("11-29", at_50("vllm", 3000, model="b")),
        a_run("11-28", at_50("vllm", 3000, hardware="mi300x"), quotes=custom, sku=None),
    ]
    found, markdown, _ = board(*runs)
    assert (found["book"], found["tier"]) == ("2026-09", "hyperscaler")
    costs = {(cell["model"], cell["sku"]): cell["reading"]["usd_per_mtok"] for cell in found["boards"][0]["cells"]}
    assert costs == {
        (M7, "MI300X"): None,
        (M7, MI355X): pytest.approx(1.5e6 / 3600 / 4000),
        ("b", MI355X): pytest.approx(1.5e6 / 3600 / 3000),
    }
    assert "2 runs made at prices of another book; all costs here are at book 2026-09." in markdown
    assert "No run has a price of book 2026-09 for MI300X" in markdown
    assert [entry["cheapest"] for entry in found["boards"][0]["entries"]] == [1, None, 1]
    assert board(*runs, tier="retail")[0]["boards"][0]["cells"][1]["reading"]["usd_per_mtok"] == pytest.approx(2.9e6 / 3600 / 4000)
    assert board(*runs, book="2026-01")[0]["boards"][0]["cells"][1]["reading"]["usd_per_mtok"] == pytest.approx(9e6 / 3600 / 4000)
    for options, said in (
        ({"book": "2026-10"}, "--set leaderboard.book: found '2026-10': no run was made at its prices; did you mean"),
        ({"tier": "x"}, "--set leaderboard.tier: found 'x': book 2026-09 has no such tier; allowed: hyperscaler, retail"),
    ):
        with pytest.raises(InputError, match=said):
            board(*runs, **options)


def test_prices_that_differ_or_make_no_sense_are_no_prices():
    runs = [
        a_run("11-30", at_50("vllm", 4000)),
        a_run("11-29", at_50("vllm", 3000), quotes=(replace(SAMPLE_QUOTES[0], usd_per_gpu_hour=1.6),)),
    ]
    found, markdown, _ = board(*runs)
    assert found["boards"][0]["cells"][0]["reading"]["usd_per_mtok"] is None
    assert "Runs say different prices for mi355x" in markdown
    broken = tuple(replace(SAMPLE_QUOTES[0], usd_per_gpu_hour=price) for price in (0.0, -1.0, float("inf"), float("nan")))
    assert board(a_run("11-30", at_50("vllm", 4000), quotes=broken))[0]["book"] is None


def test_the_newest_run_says_how_a_board_is_read():
    slow = ReportSettings(primary=30.0, axis="p90", policy="min_cost")
    other = sample_point("vllm-c16", speed_tok_s_user=45, rate_tok_s_gpu=5000, concurrency=16)  # 36 at p90
    runs = [a_run("11-30", at_50("vllm", 4000), other, report=slow, quotes=()), a_run("11-29", at_50("vllm", 3000))]
    found, markdown, _ = board(*runs)
    only = found["boards"][0]
    assert (only["rung"], only["axis"], only["policy"]) == (30.0, "p90", "min_cost")
    assert only["cells"][0]["reading"]["status"] == "below_range"
    assert "below range, slowest 36.0 tok/s/user" in markdown
    assert "1 run asked for another rung or axis" in markdown


def test_repeats_that_cannot_be_told_apart_are_named():
    points = [
        replace(at_50(engine, rate, repeat=number), id=f"{engine}-c8-x{number}")
        for engine, rates in (("vllm", (4000, 4300)), ("atom", (4100, 4350)))
        for number, rate in enumerate(rates, 1)
    ]
    found, markdown, _ = board(a_run("11-30", *points, campaign={"run": {"repeats": 2}}))
    reading = found["boards"][0]["cells"][0]["reading"]
    assert (reading["engine"], reading["repeats"], reading["runner_up"]) == ("atom", 2, "vllm")
    assert "ATOM fp4, not told apart from vLLM" in markdown
    assert "+-" in markdown


def test_points_without_a_date_count_and_tell_no_change():
    source = ImportSource(importer="rows", file="f", sha256="0", schema="s")
    point = replace(at_50("vllm", 9000), origin="imported", provenance=source.to_provenance())
    found, markdown, _ = board(a_run("11-30", point), a_run("11-01", replace(point, id="c")))
    assert (found["as_of"], found["before"]) == (None, None)
    assert cells(found)[M7, MI355X] == (9000, "vllm", "unknown", None)
    assert "2 points without a date" in markdown


def test_what_was_left_out_is_named():
    unread = replace(sample_run(), id="torn", unreadable="run.json: is torn", points=(), planned=())
    found, markdown, html = board(a_run("11-30", at_50("vllm", 4000)), unread)
    assert found["unread"] == [{"name": "torn", "reason": "run.json: is torn"}]
    assert found["runs"] == 1
    assert "- torn: run.json: is torn" in markdown
    assert "<b>torn</b>: run.json: is torn" in html


def test_nothing_at_all():
    found, markdown, html = board(a_run("11-30"))
    assert found["boards"] == []
    assert "No run has a point." in markdown
    assert "No run has a point." in html


def test_names_of_strangers_are_text():
    bad = '<script>alert("x")</script>|`\x1b[31m'
    point = at_50("vllm", 4000, model=bad, precision=bad, hardware=bad)
    _, markdown, html = board(a_run("11-30", point), title=bad)
    for text in (markdown, html):
        assert "\x1b" not in text
    assert "<script" not in html
    assert "\n| \\<script" in markdown


def test_the_order_of_the_runs_does_not_matter_and_the_bytes_are_equal():
    runs = [
        a_run(day, at_50("vllm", 4000 + number), at_50("atom", 4400 - number)) for number, day in enumerate(("11-01", "11-20", "11-30"))
    ]
    assert board(*runs) == board(*runs) == board(*reversed(runs))


def test_names_tell_lots_apart():
    lots = lots_of([a_run("11-30", at_50("vllm", 1), replace(at_50("vllm", 1, corpus="0123456789abcdef" * 4), id="b"))])
    assert sorted(work_names(lots).values()) == [
        "fixed sequence lengths, 1,024 input and 128 output tokens, corpus 0123456789abcdef01234...",
        "fixed sequence lengths, 1,024 input and 128 output tokens, no corpus",
    ]
    assert set(model_names(lots).values()) == {M7}


def test_what_must_be_known_of_runs_stands_where_their_points_are():
    lacking, bad = "plugin heat (lab 1.0) could not be loaded: gone", "<b>|`\x1b[31m"
    fixed = [a_run(day, at_50("vllm", 4000), notes=notes) for day, notes in (("11-01", (lacking, bad)), ("11-02", (bad,)), ("11-03", ()))]
    other = a_run("11-04", at_50("atom", 4000, workload="agentx", agentic=True), notes=("it rains",))
    found, markdown, html = board(*fixed, other)
    one, two = sorted((part["notes"] for part in found["boards"]), key=len, reverse=True)
    names = ["20261101T000000Z-run", "20261102T000000Z-run"]
    assert one[:2] == [f"{names[0]}: {lacking}.", f"{', '.join(names)}: {bad}."]
    assert two == ["It rains."]
    for text in (markdown.replace("\\", ""), html):
        assert f"{names[0]}: {lacking}." in text
        assert "It rains." in text
        assert "\x1b" not in text
    assert "<b>|" not in html
    assert board(*fixed, other) == board(other, *reversed(fixed))


def test_published_rows_and_the_command(shared, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runs = load_runs([shared / "data/rows/seed_like_rows.json", shared / "data/rows/api_rows_fixed_sequence.json"], load_host())
    found, _, _ = board(*runs)
    assert cells(found, 0)["Kimi K3", "MI355X"][:2] == (pytest.approx(5542, abs=0.5), "vllm")
    assert found["boards"][1]["cells"][0]["reading"]["engine"] == "vllm"
    folder = write_sample_run(tmp_path / "results", load_host())
    monkeypatch.chdir(tmp_path)
    assert main(["report", "results", "--use", "leaderboard", "--set", "leaderboard.days=30", "--set", "primary=75"]) == 0
    made = json.loads((tmp_path / "reports" / "leaderboard.json").read_text())
    assert (made["days"], made["boards"][0]["rung"], made["boards"][0]["cells"][0]["sku"]) == (30, 75, SAMPLE_SKU.name)
    assert not (folder / "reports").exists()
    capsys.readouterr()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("days=0", "--set leaderboard.days: found 0"),
        ("as_of=tomorrow", "--set leaderboard.as_of: found 'tomorrow'"),
        ("theme=pink", "--set leaderboard.theme: found 'pink'"),
        ("week=1", "--set leaderboard.week: unknown key"),
    ],
)
def test_wrong_options(tmp_path, monkeypatch, capsys, option, said):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = write_sample_run(tmp_path / "results", load_host())
    assert main(["report", str(run), "--use", "leaderboard", "--set", f"leaderboard.{option}"]) == 2
    assert said in capsys.readouterr().err
