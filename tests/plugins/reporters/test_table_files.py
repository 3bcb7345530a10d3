"""`table` for papers and for data frames: LaTeX that no name can break, and Parquet with the types and the numbers of the CSV."""

from __future__ import annotations

import csv
import io
import re
import string
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.model.result import Failure
from ixbench.model.run import MetricNote
from ixbench.report.load import load_run
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_point, sample_run, too_short
from ixbench_plugins.reporters.columns import COLUMNS
from ixbench_plugins.reporters.latex import latex
from ixbench_plugins.reporters.table import TableReporter

UNITS = ("_s", "_share", "_tok_s", "_tok_s_user", "_tok_s_gpu", "_w_gpu", "_per_s", "_joules_per_token", "_tok_s_mw")
WITHOUT_UNIT = {
    *("run", "point", "evidence", "origin", "verdict", "codes", "model", "precision", "hardware", "engine", "engine_version", "workload"),
    *("kv_offload", "spec_method", "accuracy_gate", "axis", "energy_valid"),
    # Counts: their name says of what.
    *("gpus", "tensor_parallel", "concurrency", "concurrency_mean", "requests", "ok", "failed", "cancelled"),
}
SPECIAL = "\\{}$&#%_^~"


def render(*runs, **options):
    reporter = TableReporter()
    return {artifact.name: artifact.content for artifact in reporter.render(runs, reporter.Options(**options))}


def usual():
    failure = Failure(code="oom", cause="100% of {memory} & more_or_less $5", fix="")
    return sample_run(
        sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=5000),
        replace(sample_point("vllm-c16", speed_tok_s_user=40, rate_tok_s_gpu=6000, concurrency=16), origin="imported"),
        sample_point("vllm-c32", speed_tok_s_user=30, rate_tok_s_gpu=6100, concurrency=32, successes=5, verdict=too_short(5)),
        sample_point("vllm-c64", speed_tok_s_user=None, rate_tok_s_gpu=None, concurrency=64, failure=failure),
        sample_point("sim-c8", speed_tok_s_user=60, rate_tok_s_gpu=5000, evidence="simulated"),
        planned=("vllm-c8", "vllm-c16", "vllm-c32", "vllm-c64", "sim-c8", "sim-c16"),
    )


def lines_of(tex):
    """Return the cells of the rows between the head that later pages repeat and the end."""
    body = tex.partition("\\endfoot\n")[2].partition("\\end{longtable}")[0]
    assert body.count(" \\\\\n") == body.count("\n")
    return [re.split(r"(?<!\\) & ", line.removesuffix(" \\\\")) for line in body.splitlines()]


# --- columns ------------------------------------------------------------------------------------------------------------------------------


def test_each_column_has_its_unit_in_its_name_or_needs_none():
    for column in COLUMNS:
        assert column.name in WITHOUT_UNIT or column.name.endswith((*UNITS, "_thin")), column.name
        assert column.kind in (str, int, float, bool)


def test_each_row_says_where_it_comes_from_and_whether_it_counts():
    rows = {row["point"]: row for row in csv.DictReader(io.StringIO(render(usual())["table.csv"]))}
    found = {name: (row["evidence"], row["origin"], row["verdict"], row["codes"]) for name, row in rows.items()}
    assert found == {
        "vllm-c8": ("measured", "run", "valid", ""),
        "vllm-c16": ("measured", "imported", "valid", ""),
        "vllm-c32": ("measured", "run", "invalid", "too_short"),
        "vllm-c64": ("measured", "run", "failed", "oom"),
        "sim-c8": ("simulated", "run", "valid", ""),
    }


# --- LaTeX --------------------------------------------------------------------------------------------------------------------------------


def test_the_latex_table_has_all_points_with_units_and_provenance():
    tex = render(usual())["table.tex"]
    rows = lines_of(tex)
    (columns,) = re.findall(r"\\begin\{longtable\}\{(\w+)\}", tex)
    assert {len(row) for row in rows} == {len(columns)}
    assert [row[0] for row in rows] == ["vllm{-}c8", "vllm{-}c16", "vllm{-}c32", "vllm{-}c64", "sim{-}c8"]
    assert [row[3] for row in rows] == ["measured", "measured{,} imported", "measured", "measured", "SIMULATED"]
    assert [row[4] for row in rows] == ["valid", "valid", r"INVALID too\_short", "FAILED oom", "valid"]
    assert rows[3][6:17] == ["{-}"] * 11
    assert rows[0][6:11] == ["60.0", "250", "313", "450{*}", "16.7"]
    head = tex.partition("\\endfirsthead")[0]
    for words in (
        r"\toprule",
        "TTFT (ms)",
        "TPOT (ms)",
        "E2EL (s)",
        "tok/s/user",
        "(median)",
        "tok/s/GPU",
        "requests/s",
        r"\cmidrule(lr){8-10}",
    ):
        assert words in head
    for line in head.splitlines():
        if " & " in line:
            spanned = sum(int(count) - 1 for count in re.findall(r"multicolumn\{(\d+)\}", line))
            assert line.count(" & ") + 1 + spanned == len(columns)
    assert r"\item vllm{-}c64: oom: 100\% of \{memory\} \& more\_or\_less \$5" in tex
    assert "not finished: sim{-}c16." in tex


def test_everything_that_opens_is_closed():
    tex = render(usual(), replace(usual(), id="another"))["table.tex"]
    plain = re.sub(r"\\[\\{}]", "", tex)
    assert plain.count("{") == plain.count("}")
    for name in ("longtable", "itemize"):
        assert tex.count(f"\\begin{{{name}}}") == tex.count(f"\\end{{{name}}}") == 1
    assert tex.count("\\begingroup") == tex.count("\\endgroup") == 1
    assert "another/vllm{-}c8" in tex


@given(st.text())
def test_no_text_is_a_command(text):
    found = latex(text)
    assert found.isprintable() or not found
    rest = re.sub(r"\\(?:text(?:backslash|asciicircum|asciitilde|less|greater|bar|asciigrave)\{\}|symbol\{34\})", "", found)
    rest = re.sub(r"\\texttt\{U\+[0-9A-F]{4,6}\}", "", rest)
    rest = re.sub(r"\\[{}$&#%_]", "", rest)
    rest = re.sub(r"\{[-,'*\[\]]\}", "", rest)
    assert not set(rest) & set(SPECIAL + "-,'*[]<>|\"`")
    assert set(found) - set(string.printable) <= set("".join(map(chr, range(0xC0, 0x180))))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a_b 5% {x} \\input{y}", r"a\_b 5\% \{x\} \textbackslash{}input\{y\}"),
        ("[0pt] -- ``q''", r"{[}0pt{]} {-}{-} \textasciigrave{}\textasciigrave{}q{'}{'}"),
        ("é ß 模 \N{EURO SIGN} \N{ZERO WIDTH SPACE}", r"é ß \texttt{U+6A21} \texttt{U+20AC}"),
        ("\x1b[31mred\x07\n^^4d", r"red \textasciicircum{}\textasciicircum{}4d"),
        ("", ""),
    ],
)
def test_what_stands_for_a_character(text, found):
    assert latex(text) == found


# --- Parquet ------------------------------------------------------------------------------------------------------------------------------


def read(content):
    """Return the columns of a Parquet file as lists, and what each says of itself."""
    arro3_io = pytest.importorskip("arro3.io", reason="the extra 'parquet' is not installed")
    table = arro3_io.read_parquet(io.BytesIO(content)).read_all()
    names = table.column_names
    columns = {name: [value.as_py() for value in table.column(name)] for name in names}
    return columns, {name: (str(table.schema.field(name).type).strip(), table.schema.field(name).metadata) for name in names}


def test_parquet_holds_what_the_csv_holds_with_types_and_nulls():
    note = MetricNote(name="acme_depth_m", unit="m", better="lower", needs=(), definition="How deep.", source="", plugin="acme")
    run = replace(usual(), metrics=(note,))
    deep = replace(run.points[0], metrics={**run.points[0].metrics, "acme_depth_m": 3})
    files = render(replace(run, points=(deep, *run.points[1:])))
    columns, about = read(files["table.parquet"])
    rows = list(csv.DictReader(io.StringIO(files["table.csv"])))
    assert list(columns) == list(rows[0])
    for name, values in columns.items():
        for value, row in zip(values, rows, strict=True):
            shown = "" if value is None else str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else None
            assert row[name] == shown if shown is not None else float(row[name]) == value, name
    assert columns["ttft_p50_s"][3] is None
    assert columns["acme_depth_m"] == [3.0, None, None, None, None]
    assert about["acme_depth_m"] == ("arro3.core.DataType<Float64>", {b"unit": b"m"})
    assert about["gpus"][0] == "arro3.core.DataType<Int64>"
    assert about["ttft_p50_thin"][0] == "arro3.core.DataType<Boolean>"
    assert about["spec_method"][0] == "arro3.core.DataType<Utf8>"
    assert columns["spec_method"] == [None] * 5
    assert b"reciprocal" in about["axis"][1][b"description"]


def test_parquet_is_the_same_each_time_and_works_without_points():
    assert render(usual())["table.parquet"] == render(usual())["table.parquet"]
    columns, _ = read(render(sample_run())["table.parquet"])
    assert list(columns) == [column.name for column in COLUMNS]
    assert not any(columns.values())


def test_without_the_extra_it_is_left_out_or_missed_with_a_sentence(monkeypatch, tmp_path, capsys):
    assert "table.parquet" not in render(usual(), parquet=False)
    for name in ("arro3", "arro3.io", "arro3.core"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("ixbench_plugins.reporters.table.can_write_parquet", lambda: False)
    assert sorted(render(usual())) == ["table.csv", "table.json", "table.md", "table.tex"]
    sentence = "table.parquet: needs the extra 'parquet', which is not installed; install it with: pip install 'ixbench[parquet]'"
    with pytest.raises(InputError) as caught:
        render(usual(), parquet=True)
    assert str(caught.value) == sentence
    run = write_sample_run(tmp_path / "results", load_host())
    assert main(["report", str(run), "--use", "table", "--set", "table.parquet=true", "--use", "cost"]) == 1
    said = capsys.readouterr().err
    assert f"ixbench: {sentence}" in said.splitlines()
    assert (run / "reports" / "cost.json").is_file()
    assert load_run(run).title == "Model 7B on MI355X"


def test_what_is_no_switch_is_refused(tmp_path, capsys):
    run = write_sample_run(tmp_path / "results", load_host())
    assert main(["report", str(run), "--use", "table", "--set", "table.parquet=maybe"]) == 2
    assert "--set table.parquet: found 'maybe'" in capsys.readouterr().err
