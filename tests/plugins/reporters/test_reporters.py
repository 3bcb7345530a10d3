"""What the built-in reporters print: the whole text as snapshots, and the rules that no change of words may break."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbench.model.errors import InputError
from ixbench.model.price import Quote
from ixbench.model.result import Failure, Reason, Verdict
from ixbench.model.run import ReportSettings
from ixbench.testing.runs import SAMPLE_QUOTES, sample_point, sample_run, too_short
from ixbench.testing.snapshot import assert_text_snapshot
from ixbench_plugins.reporters import REPORTERS as DEFERRED
from ixbench_plugins.reporters.text import clean, escape, markdown_table

REPORTERS = tuple(one for one in (reporter.load() for reporter in DEFERRED) if not one.surveys)
"""Those that look into a few runs; the others have tests of their own."""

SNAPSHOTS = Path(__file__).parent / "snapshots"
FEW = Reason(code="too_short", value=40, limit=100, text="40 successes: percentiles beyond the median are thin", severity="warning")
NASTY = "</td><script>alert(1)</script>|\x1b[31mred\x1b[0m\x07\u202e\n# big\r*bold*`code`[x](http://y)"


def usual():
    return sample_run(
        sample_point(
            "vllm-c1",
            speed_tok_s_user=88.4,
            rate_tok_s_gpu=2000,
            concurrency=1,
            successes=40,
            verdict=Verdict(status="valid_with_warnings", reasons=(FEW,)),
        ),
        sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=5000),
        sample_point("vllm-c16", speed_tok_s_user=40, rate_tok_s_gpu=6000, concurrency=16),
        sample_point("atom-c4", speed_tok_s_user=75, rate_tok_s_gpu=4800, concurrency=4, engine="atom"),
        sample_point("atom-c8", speed_tok_s_user=50, rate_tok_s_gpu=5542, engine="atom"),
        sample_point("vllm-c32", speed_tok_s_user=30, rate_tok_s_gpu=6100, concurrency=32, successes=5, verdict=too_short(5)),
        sample_point(
            "vllm-c64",
            speed_tok_s_user=None,
            rate_tok_s_gpu=None,
            concurrency=64,
            failure=Failure(code="oom", cause="The GPU ran out of memory.", fix="Lower max_num_seqs."),
        ),
        planned=("vllm-c1", "vllm-c8", "vllm-c16", "atom-c4", "atom-c8", "vllm-c32", "vllm-c64", "vllm-c128"),
    )


def unreached():
    return sample_run(
        sample_point("vllm-c1", speed_tok_s_user=41.5, rate_tok_s_gpu=900, concurrency=1),
        sample_point("vllm-c8", speed_tok_s_user=36, rate_tok_s_gpu=1500),
    )


def simulated():
    return sample_run(
        sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=5000, evidence="simulated"),
        sample_point("vllm-c16", speed_tok_s_user=40, rate_tok_s_gpu=6000, concurrency=16, evidence="simulated"),
    )


def no_gpus():
    return sample_run(
        sample_point(
            "server-c1", speed_tok_s_user=60, rate_tok_s_gpu=None, rate_tok_s=900.0, gpus=None, hardware=None, precision=None, concurrency=1
        ),
        sample_point("server-c8", speed_tok_s_user=40, rate_tok_s_gpu=None, rate_tok_s=4000.0, gpus=None, hardware=None, precision=None),
        quotes=(),
        sku=None,
    )


def no_price():
    return replace(usual(), quotes=(), sku=None)


def custom_price():
    quote = Quote(book="custom", sku="mi355x", tier="ours", label="ours", usd_per_gpu_hour=2.808, as_of="", source="--usd-per-gpu-hour")
    return replace(usual(), quotes=(quote,))


def hostile():
    return sample_run(
        sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=5000, engine=NASTY, model=NASTY, precision=NASTY),
        sample_point(
            "vllm-c16",
            speed_tok_s_user=None,
            rate_tok_s_gpu=None,
            engine="=cmd()",
            failure=Failure(code="oom", cause=NASTY, fix=NASTY, evidence=(NASTY,)),
        ),
        title=NASTY,
        report=ReportSettings(rungs=(60.0,), primary=60.0),
        quotes=(replace(SAMPLE_QUOTES[0], label=NASTY, source=NASTY),),
    )


def swept():
    def of(seqs, users, **more):
        point_id = f"vllm-c{users}-max-num-seqs-{seqs}"
        settings = {"max_num_seqs": seqs, "args.--async": users == 8}
        return sample_point(point_id, deployment="vllm", concurrency=users, settings=settings, **more)

    return sample_run(
        of(64, 1, speed_tok_s_user=100, rate_tok_s_gpu=2000),
        of(128, 1, speed_tok_s_user=90, rate_tok_s_gpu=1900),
        of(64, 8, speed_tok_s_user=50, rate_tok_s_gpu=5000),
        of(128, 8, speed_tok_s_user=50, rate_tok_s_gpu=5600),
    )


RUNS = {made.__name__: made for made in (usual, unreached, simulated, no_gpus, no_price, custom_price, swept, hostile)}


def render(*runs, **options) -> dict[str, str]:
    found = {}
    for reporter in REPORTERS:
        chosen = reporter.Options(**options.get(reporter.name, {}))
        for artifact in reporter.render(runs, chosen):
            assert artifact.name.startswith(f"{reporter.name}.")
            assert artifact.show == (artifact.name in {"console.txt", "definitions.txt", "inferencex.txt"})
            found[artifact.name] = artifact.content
    return found


def texts_of(*runs) -> dict[str, str]:
    """Return what can be read as text."""
    return {name: content for name, content in render(*runs).items() if isinstance(content, str)}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("file", ["console.txt", "ladder.md", "cost.md", "table.md", "table.csv", "table.tex"])
def test_the_text_is_as_it_was(name, file):
    assert_text_snapshot(render(RUNS[name]())[file], SNAPSHOTS / name / file)


@pytest.mark.parametrize("name", RUNS)
def test_equal_runs_give_equal_bytes(name):
    assert render(RUNS[name]()) == render(RUNS[name]())


def test_each_rung_names_the_settings_that_won_it():
    found = render(swept())
    rungs = {rung["target"]: rung for rung in json.loads(found["ladder.json"])["rungs"]}
    assert rungs[50.0]["points"] == ["vllm-c8-max-num-seqs-128"]
    assert (rungs[50.0]["deployments"], rungs[50.0]["settings"]) == (["vllm"], [{"max_num_seqs": 128, "args.--async": True}])
    assert [one["max_num_seqs"] for one in rungs[75.0]["settings"]] == [128, 64]
    assert rungs[75.0]["points"] == ["vllm-c8-max-num-seqs-128", "vllm-c1-max-num-seqs-64"]
    assert (rungs[200.0]["deployments"], rungs[200.0]["settings"]) == ([], [])
    sentence = "Settings at 75 tok/s/user: vllm with max_num_seqs = 128 | 64, args.--async = true | false."
    assert sentence in " ".join(found["console.txt"].split())
    assert sentence.replace("|", "\\|") in found["ladder.md"]
    assert "vllm-c8-max-num-seqs-128," in found["console.txt"], "the names of points are never cut"
    assert "Settings at" not in render(usual())["console.txt"]


def test_the_files_are_those_of_the_reporters():
    assert [name for name in render(usual()) if not name.startswith(("definitions", "inferencex"))] == [
        "console.txt",
        "ladder.md",
        "ladder.json",
        "cost.md",
        "cost.json",
        "table.csv",
        "table.md",
        "table.json",
        "table.tex",
        "table.parquet",
        "page.html",
        "page.md",
        "page.json",
    ]


def test_ladder_json_has_the_keys_that_others_read():
    ladder = json.loads(render(usual())["ladder.json"])
    assert {
        "title", "evidence", "axis", "interpolation", "range", "policy", "scope", "excluded", "tier", "rungs", "curves", "peak",
        "configs", "engines", "precisions", "dates", "best_ttft", "best_tpot",
    } <= set(ladder)  # fmt: skip
    rung = ladder["rungs"][1]
    assert {"target", "status", "tok_s_gpu", "usd_per_mtok", "engine", "precision", "points", "fastest_tok_s_user"} <= set(rung)
    assert {"key", "engine", "precision", "spec_method", "kv_offload", "points"} <= set(ladder["curves"][0])
    assert ladder["rungs"][-1]["status"] == "unreachable"
    assert ladder["rungs"][-1]["tok_s_gpu"] is None
    assert ladder["rungs"][-1]["fastest_tok_s_user"] == 88.4


def test_cost_json_has_the_keys_that_others_read():
    run = sample_run(sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5542))
    cost = json.loads(render(run)["cost.json"])
    assert (cost["target"], cost["basis"]) == (50.0, "total")
    assert {"tier", "usd_per_gpu_hour", "usd_per_mtok", "usd_per_mtok_output", "usd_per_mtok_computed", "as_of", "source"} <= set(
        cost["tiers"][0]
    )
    assert [round(tier["usd_per_mtok"], 7) for tier in cost["tiers"]] == [0.0751834, 0.1453547]


def test_tasks_of_an_agentic_workload_are_priced():
    point = sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5542, agentic=True)
    run = sample_run(replace(point, metrics=point.metrics | {"tasks_completed": 10, "phase_s": 3600.0}))
    text = render(run)
    (cost,) = json.loads(text["cost.json"])["tasks"]
    assert (cost["point"], cost["tasks"], cost["gpus"]) == ("vllm-c8", 10, 8)
    assert cost["usd"] == pytest.approx({"Owning at Large Hyperscaler Volume": 1.2, "Retail": 2.32})
    assert "| vllm-c8 | 10 | 1 h | $1.20 | $2.32 |" in text["cost.md"]
    assert json.loads(render(usual())["cost.json"])["tasks"] == []
    assert "What a task costs" not in render(usual())["cost.md"]


@pytest.mark.parametrize(("tasks", "text"), [(12_345, "12345"), (9.98765, "9.988"), (10.0, "10")])
def test_numbers_of_tasks_have_no_exponent(tasks, text):
    point = sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5542, agentic=True)
    run = sample_run(replace(point, metrics=point.metrics | {"tasks_completed": tasks, "phase_s": 3600.0}))
    assert f"| vllm-c8 | {text} | 1 h |" in render(run)["cost.md"]


def test_an_unreachable_target_is_a_dash_and_names_the_fastest_point():
    text = render(usual())
    assert "| 100 | - | - | - | - | unreachable: fastest point 88.4 tok/s/user | - |" in text["ladder.md"]
    headline = render(unreached())["console.txt"].splitlines()[1]
    assert headline == "At 50 tok/s/user: unreachable: fastest point 41.5 tok/s/user."
    assert json.loads(render(unreached())["cost.json"])["tiers"] == []
    assert "No costs: 50 tok/s/user is not reached" in render(unreached())["cost.md"]


def test_every_way_of_reading_is_marked():
    ladder = render(usual())["ladder.md"]
    assert re.search(r"\| 50 \| 5,\d{3} \|.*\| exact \||\| 50 \| 5,\d{3} \|.*\| interpolated", ladder)
    assert re.search(r"\| 75 \|.*\| exact \| atom-c4 \|", ladder)
    assert "below range: slowest point of the frontier 40.0 tok/s/user" in ladder
    step = replace(usual(), report=ReportSettings(rungs=(55.0,), primary=55.0, interpolation="step"))
    assert "meets, at 60.0 tok/s/user" in render(step)["ladder.md"]


@pytest.mark.parametrize("file", ["console.txt", "ladder.md", "cost.md"])
@pytest.mark.parametrize(
    "words",
    [
        "axis median",
        "basis total",
        "(steffen)",
        "(in_range)",
        "(max_throughput)",
        "Scope: all engines; 0 curves left out",
        "book 2026-09, as of 2026-09-10",
    ],
)
def test_what_the_reader_needs_is_printed(file, words):
    assert words in " ".join(render(usual())[file].split())


@pytest.mark.parametrize("file", ["console.txt", "ladder.md", "cost.md", "table.md"])
def test_a_simulated_run_says_so_in_title_rows_and_notes(file):
    text = render(simulated())[file]
    assert "(SIMULATED)" in "".join(text.splitlines()[:1])
    assert "no engine ran and nothing was measured" in " ".join(text.split())
    if file != "cost.md":
        assert all("SIMULATED" in line for line in text.splitlines() if re.match(r"(\| )?(vllm-c\d+|50 )", line))


def test_a_simulated_run_says_so_in_the_data():
    text = render(simulated())
    assert json.loads(text["ladder.json"])["evidence"] == json.loads(text["cost.json"])["evidence"] == "simulated"
    assert {row["evidence"] for row in csv.DictReader(io.StringIO(text["table.csv"]))} == {"simulated"}


def test_a_measured_run_never_says_simulated():
    texts = (re.sub(r"<style>.*?</style>", "", content, flags=re.DOTALL) for content in texts_of(usual()).values())
    assert not any("simulated" in text.lower() for text in texts)


def test_without_gpus_the_server_is_shown_and_a_sentence_says_how_to_get_rates_per_gpu():
    text = render(no_gpus())
    for file in ("console.txt", "ladder.md", "table.md"):
        assert "--gpus" in text[file]
        assert "4,000" in text[file]
    assert "The whole server: fastest" in text["ladder.md"]
    rows = list(csv.DictReader(io.StringIO(text["table.csv"])))
    assert [(row["total_tok_s_gpu"], row["total_tok_s"]) for row in rows] == [("", "900.0"), ("", "4000.0")]


def test_without_a_price_costs_are_dashes_and_say_why():
    text = render(no_price())
    assert re.search(r"\| 75 \| 4,800 \| - \|", text["ladder.md"])
    assert "No costs: No price is known for this hardware." in text["cost.md"]
    assert "no price is known" in text["console.txt"]


def test_a_custom_price_says_custom():
    for file in ("console.txt", "ladder.md", "cost.md"):
        assert "ours $2.81 per GPU-hour, a custom price" in " ".join(render(custom_price())[file].split())
    assert "| ours | $2.81 |" in render(custom_price())["cost.md"]


def test_the_table_holds_every_point_with_its_verdict():
    rows = {row["point"]: row for row in csv.DictReader(io.StringIO(render(usual())["table.csv"]))}
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "vllm-c1": "valid_with_warnings",
        "vllm-c8": "valid",
        "vllm-c16": "valid",
        "atom-c4": "valid",
        "atom-c8": "valid",
        "vllm-c32": "invalid",
        "vllm-c64": "failed",
    }
    assert rows["vllm-c64"]["codes"] == "oom"
    assert json.loads(render(usual())["table.json"])["missing"] == {usual().id: ["vllm-c128"]}


def test_latencies_are_seconds_in_data_and_ms_in_print_only():
    run = sample_run(sample_point("vllm-c8", speed_tok_s_user=1 / 0.0098, rate_tok_s_gpu=5000))
    text = render(run)
    row = next(csv.DictReader(io.StringIO(text["table.csv"])))
    assert float(row["tpot_p50_s"]) == pytest.approx(0.0098)
    assert float(row["ttft_p50_s"]) == 0.25
    assert "| 250 ms |" in text["table.md"]
    assert "| 9.8 ms |" in text["table.md"]
    assert " ms" not in text["table.csv"] + text["table.json"]


def test_thin_percentiles_are_starred():
    row = next(line for line in render(usual())["table.md"].splitlines() if line.startswith("| vllm-c1 |"))
    assert "| 250 ms | 313 ms\\* | 450 ms\\* |" in row
    assert "fewer than 10 answers lie beyond" in render(usual())["table.md"]


@pytest.mark.parametrize("file", ["console.txt", "ladder.md", "cost.md", "table.md", "table.csv"])
def test_hostile_names_change_neither_terminal_nor_page_nor_table(file):
    text = render(hostile())[file]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert not re.search(r"^#+ big", text, flags=re.MULTILINE)
    if file.endswith(".md"):
        assert not re.search(r"(?<!\\)<script", text)
        assert "](http" not in text.replace("\\]", "")
        tables = [line for line in text.splitlines() if line.startswith("| ")]
        widths = [len(re.findall(r"(?<!\\)\|", line)) for line in tables]
        breaks = [index for index, line in enumerate(tables) if line.startswith(("| ---", "| ---:"))]
        assert breaks
        assert all(widths[index] == widths[index - 1] for index in breaks)
        assert len(set(widths)) <= 3
    if file == "table.csv":
        assert [row["engine"] for row in csv.DictReader(io.StringIO(text))][1] == "'=cmd()"


def test_the_width_of_the_console_is_an_option():
    for width in (60, 100, 160):
        lines = render(usual(), console={"width": width})["console.txt"].splitlines()
        assert max(map(len, lines)) <= width
    assert all(line.isascii() for line in lines)
    with pytest.raises(ValueError, match="greater than or equal to 60"):
        REPORTERS[0].Options(width=10)


def test_at_the_usual_80_columns_every_word_is_whole():
    lines = render(usual(), console={"width": 80})["console.txt"].splitlines()
    header = next(number for number, line in enumerate(lines) if line.endswith("verdict"))
    words = [line.split() for line in lines[header + 2 : header + 9]]
    assert [row[0] for row in words] == ["vllm-c1", "vllm-c8", "vllm-c16", "atom-c4", "atom-c8", "vllm-c32", "vllm-c64"]
    assert [row[-1] for row in words] == ["valid*", "valid", "valid", "valid", "valid", "INVALID", "FAILED"]
    assert any("interpolated" in line for line in lines)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_simulated_point_takes_one_line(width):
    text = render(simulated(), console={"width": width})["console.txt"]
    table = text.partition("Points (SIMULATED)\n")[2].partition("\n\n")[0].splitlines()
    rows = table[next(number for number, line in enumerate(table) if line.startswith("---")) + 1 :]
    assert [row.split()[0] for row in rows] == ["vllm-c8", "vllm-c16"]
    assert all(row.endswith("SIMULATED" if width == 80 else "SIMULATED, valid") for row in rows)


def test_codes_break_between_words_only():
    many = tuple(replace(FEW, code=code) for code in ("input_mismatch", "client_saturated", "too_short"))
    verdict = Verdict(status="valid_with_warnings", reasons=many)
    point = sample_point("llamacpp-c16", speed_tok_s_user=50, rate_tok_s_gpu=5542, verdict=verdict)
    table = render(sample_run(point))["console.txt"].partition("Points\n")[2].partition("\nllamacpp-c16: ")[0]
    assert {"input_mismatch,", "client_saturated,", "too_short"} <= set(table.split())


@pytest.mark.parametrize("width", [60, 64, 70, 76])
def test_a_narrow_console_rather_breaks_words_than_cuts_columns_off(width):
    lines = render(usual(), console={"width": width})["console.txt"].splitlines()
    wide = render(usual(), console={"width": 160})["console.txt"]
    table = lines[lines.index("Points") : next(number for number, line in enumerate(lines) if line.startswith("vllm-c1: "))]
    assert sum("valid" in line for line in table) == 5
    for number in re.findall(r"\d,\d{3}", wide.partition("Points\n")[2].partition("\nvllm-c1: ")[0]):
        assert any(number in line for line in table), number


def test_two_runs_share_a_ladder_and_name_their_points_by_run():
    second = replace(
        sample_run(sample_point("vllm-c8", speed_tok_s_user=70, rate_tok_s_gpu=4000, engine="atom")), id="20261201T064501Z-other"
    )
    text = render(usual(), second)
    assert "20261201T064501Z-other/vllm-c8" in text["table.md"]
    assert len({row["run"] for row in csv.DictReader(io.StringIO(text["table.csv"]))}) == 2


def test_runs_of_different_work_share_no_ladder_but_a_table():
    other = replace(sample_run(sample_point("vllm-c8", speed_tok_s_user=70, rate_tok_s_gpu=4000, model="other")), id="other")
    for reporter in REPORTERS:
        if reporter.name in {"table", "page", "definitions", "inferencex"}:
            assert list(reporter.render([usual(), other], reporter.Options()))
        else:
            with pytest.raises(InputError, match="cannot share a ladder"):
                list(reporter.render([usual(), other], reporter.Options()))


def test_where_nothing_answered_the_text_ends_with_why_and_what_to_do():
    fix = "Check the address."
    failure = Failure(code="endpoint_unreachable", cause="http://127.0.0.1:9 does not answer.", fix=fix)
    for gpus in (None, 8):
        point = sample_point("endpoint-c1", speed_tok_s_user=None, rate_tok_s_gpu=None, gpus=gpus, failure=failure)
        text = render(sample_run(point))["console.txt"]
        assert text.endswith(f"endpoint-c1: endpoint_unreachable: http://127.0.0.1:9 does not answer. {fix}\n"), text
        assert "Ladder" not in text, "nor is there a ladder without any rung"


def test_a_run_without_any_point_is_reported_too():
    text = render(sample_run(planned=("vllm-c8",)))
    assert "not finished: vllm-c8" in text["console.txt"]
    assert json.loads(text["table.json"])["points"] == []


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_a_cell_is_one_cell_whatever_it_holds(text):
    lines = markdown_table(("a", "b"), [(text, text)])
    assert len(lines) == 3
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", lines[2])) == 3
    assert clean(clean(text)) == clean(text)
    assert "<" not in re.sub(r"\\<", "", escape(text))
