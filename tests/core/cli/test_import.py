"""`ixbench import`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ixbench.cli.main import main
from ixbench.store.folder import RunReader

ROW = {
    "hw": "mi355x",
    "framework": "vllm",
    "model": "org/Model-7B",
    "precision": "fp4",
    "isl": 1024,
    "osl": 128,
    "conc": 8,
    "tp": 8,
    "ep": 1,
    "tput_per_gpu": 900.0,
    "input_tput_per_gpu": 800.0,
    "output_tput_per_gpu": 100.0,
    "median_ttft": 0.4,
    "median_tpot": 0.02,
    "median_e2el": 4.0,
}
CLIENT = {
    "date": "20260901-101500",
    "model_id": "org/Model-7B",
    "max_concurrency": 8,
    "duration": 60.0,
    "completed": 100,
    "num_prompts": 100,
    "total_input_tokens": 102400,
    "total_output_tokens": 12800,
    "output_throughput": 200.0,
    "total_token_throughput": 1800.0,
    "median_ttft_ms": 400.0,
    "median_tpot_ms": 20.0,
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write_file(content, name="rows.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
        return name

    return write_file


def test_rows_become_a_run_folder(write, tmp_path, capsys):
    row, other = write([ROW, ROW | {"hw": "a100"}, ROW | {"conc": 16}]), write(CLIENT, "client.json")
    code = main(["import", row, other, "--out", "run", "--sku", "mi355x", "--gpus", "8", "--engine", "vllm", "--precision", "fp4"])
    said = capsys.readouterr()
    assert (code, said.out) == (0, "run\n")
    assert said.err.splitlines() == [
        "rows.json: importer inferencex: 2 points (2 of agg_v1)",
        "rows.json: 1 refused: 1 unknown_hardware",
        "refused: rows.json[1]: unknown_hardware: 'a100' is no SKU that a hardware book has",
        "client.json: importer inferencex: 1 point (1 of raw_client)",
    ]
    reader = RunReader(tmp_path / "run")
    header = reader.header()
    assert (header.title, header.started) == ("model7b on MI355X", "2026-09-01T10:15:00")
    assert reader.sealed() == header.planned == ("vllm-c8", "vllm-c16", "vllm-c8-2")
    assert [quote.usd_per_gpu_hour for quote in header.quotes] == [1.5, 2.9]
    assert header.sku.sku == "mi355x"
    (first, second) = header.imported
    assert (first["file"], first["points"], len(first["sha256"]), first["refused"][0]["code"]) == ("rows.json", 2, 64, "unknown_hardware")
    assert second["schemas"] == {"raw_client": 1}
    point = reader.result("vllm-c8")
    assert point.origin == "imported"
    assert point.provenance["import"]["object"] == ROW
    assert reader.result("vllm-c8-2").metrics["throughput_tok_s_gpu"]["total"] == 225.0
    assert main(["report", "run", "--use", "console", "--out", "out"]) == 0
    assert "vllm-c16" in capsys.readouterr().out


def test_a_folder_is_imported_with_all_below_it_and_what_is_wrong_in_it_is_told(write, tmp_path, capsys):
    write([ROW, ROW | {"hw": "a100"}], "results/rows.json")
    write([ROW | {"conc": 16}, ROW | {"conc": 0}], "results/deep/er/rows.json")
    write(ROW | {"conc": 64}, "results/.hidden/rows.json")
    write(ROW | {"conc": 32}, "results/own/points/a/point.json")
    write({"format": 1}, "results/own/run.json")
    (tmp_path / "results/deep/broken.json").write_text('{"max_concurrency": 3,')
    for number in range(7):
        (tmp_path / f"results/log{number}.txt").write_text("started\n" * number)
    (tmp_path / "results/deep/loop").symlink_to(tmp_path / "results")
    (tmp_path / "results/deep/gone.json").symlink_to(tmp_path / "nowhere")
    assert main(["import", "results", "results/rows.json", "--out", "run"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "results/rows.json: importer inferencex: 1 point (1 of agg_v1)",
        "results/rows.json: 1 refused: 1 unknown_hardware",
        "refused: rows.json[1]: unknown_hardware: 'a100' is no SKU that a hardware book has",
        "results/deep/er/rows.json: importer inferencex: 1 point (1 of agg_v1)",
        "results/deep/er/rows.json: 1 refused: 1 missing_conc",
        "refused: deep/er/rows.json[1]: missing_conc: a fixed-sequence row needs conc, found 0",
        "refused: deep/broken.json: unreadable: is broken JSON at line 1, column 23: Expecting property name enclosed in double quotes",
        f"no importer knows: {', '.join(f'results/log{number}.txt' for number in range(5))} and 2 more",
    ]
    reader = RunReader(tmp_path / "run")
    assert reader.sealed() == ("vllm-c8", "vllm-c16")
    found = [(one["file"], one["points"], [row["where"] for row in one["refused"]]) for one in reader.header().imported]
    assert found == [
        ("rows.json", 1, ["rows.json[1]"]),
        ("deep/er/rows.json", 1, ["deep/er/rows.json[1]"]),
        ("deep/broken.json", 0, ["deep/broken.json"]),
    ]
    assert main(["report", "run", "--use", "table", "--out", "out"]) == 0
    assert len(Path("out/table.csv").read_text().splitlines()) == 3


def test_a_folder_in_which_every_row_is_refused_gives_nothing(write, tmp_path, capsys):
    write([ROW | {"hw": "a100"}], "results/rows.json")
    assert main(["import", "results", "--out", "run"]) == 3
    assert not (tmp_path / "run").exists()
    assert capsys.readouterr().err.splitlines()[-1] == "ixbench: every row was refused, so nothing was written"


def test_a_folder_of_too_many_files_is_refused(write, monkeypatch, capsys):
    monkeypatch.setattr("ixbench.report.foreign_folder.MOST_FILES", 3)
    for number in range(4):
        write(ROW, f"results/{number}.json")
    assert main(["import", "results", "--out", "run"]) == 2
    said = "results: holds more than 3 files; name the folders or the files that hold results"
    assert said in capsys.readouterr().err


def test_links_that_the_system_refuses_to_follow_are_passed_over(write, tmp_path, capsys):
    write(ROW, "results/deep/rows.json")
    for name in ("run.json", "more.json"):
        (tmp_path / "results/deep" / name).symlink_to("longer than a name may be" * 20)
    assert main(["import", "results", "--out", "run"]) == 0
    assert "results/deep/rows.json: importer inferencex: 1 point" in capsys.readouterr().err


def test_imported_and_read_directly_are_the_same(write, capsys):
    name = write([ROW, ROW | {"conc": 16, "median_tpot": 0.03, "tput_per_gpu": 1000.0, "input_tput_per_gpu": 900.0}])
    assert main(["import", name, "--out", "run"]) == 0
    assert main(["report", "run", "--use", "ladder", "--out", "one"]) == main(["report", name, "--use", "ladder", "--out", "two"]) == 0
    capsys.readouterr()
    one, two = (json.loads(Path(folder, "ladder.json").read_text()) for folder in ("one", "two"))
    for ladder in (one, two):
        for rung in ladder["rungs"]:
            for point in rung["evidence"]:
                del point["run"]
    assert one == two


def test_a_precision_has_the_name_that_campaigns_have(write):
    assert main(["import", write(CLIENT), "--engine", "vllm", "--sku", "mi355x", "--precision", "MXFP4", "--out", "run"]) == 0
    (point,) = Path("run").glob("points/*/point.json")
    assert json.loads(point.read_text())["identity"]["precision"] == "fp4"


def test_what_a_report_says_of_unknown_gpus_and_prices_can_be_done(write, capsys):
    name = write(CLIENT)
    said = ("--engine", "vllm", "--sku", "cpu", "--precision", "fp4")
    assert main(["report", name, "--use", "console", "--out", "out"]) == 0
    assert "by --gpus to ixbench bench or ixbench import." in " ".join(capsys.readouterr().out.split())
    assert main(["import", name, *said, "--gpus", "8", "--out", "counted"]) == 0
    assert main(["report", "counted", "--use", "console", "--out", "out"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "number of GPUs is not known" not in text
    assert "give --usd-per-gpu-hour to ixbench bench or ixbench import." in text
    assert main(["import", name, *said, "--gpus", "8", "--usd-per-gpu-hour", "2.5", "--out", "priced"]) == 0
    assert main(["report", "priced", "--use", "console", "--out", "out"]) == 0
    assert "No price is known" not in " ".join(capsys.readouterr().out.split())


def test_an_old_page_never_changes_when_a_book_does(write, monkeypatch, capsys):
    name = write([ROW])
    assert main(["import", name, "--out", "run"]) == 0
    use = [word for reporter in ("console", "ladder", "cost", "table") for word in ("--use", reporter)]
    assert main(["report", "run", *use, "--set", "rungs=50", "--out", "before"]) == 0
    from ixbench_plugins.books import read_book

    book = read_book("prices")
    rows = [{**row, "usd_per_gpu_hour": 9 * row["usd_per_gpu_hour"]} for row in book["price"]]
    monkeypatch.setattr("ixbench_plugins.prices.book.read_book", lambda _: {**book, "price": rows})
    assert main(["report", "run", *use, "--set", "rungs=50", "--out", "after"]) == 0
    assert main(["report", name, *use, "--set", "rungs=50", "--out", "direct"]) == 0
    capsys.readouterr()
    before, after, direct = ({path.name: path.read_bytes() for path in Path(folder).iterdir()} for folder in ("before", "after", "direct"))
    assert before == after
    assert b"$1.50" in before["console.txt"]
    assert b"$13.50" in direct["console.txt"]


def test_prices_can_be_of_another_book_or_ones_own(write, tmp_path, capsys):
    name = write(ROW)
    assert main(["import", name, "--out", "old", "--book", "2026-04"]) == 0
    assert [quote.usd_per_gpu_hour for quote in RunReader(tmp_path / "old").header().quotes] == [1.48, 1.9, 2.1]
    assert main(["import", name, "--out", "own", "--usd-per-gpu-hour", "2.5", "--title", "Ours"]) == 0
    header = RunReader(tmp_path / "own").header()
    assert ([(quote.book, quote.usd_per_gpu_hour) for quote in header.quotes], header.title) == ([("custom", 2.5)], "Ours")
    assert main(["report", "own", "--use", "cost", "--set", "rungs=50", "--out", "out"]) == 0
    assert json.loads((tmp_path / "out" / "cost.json").read_text())["tiers"][0]["usd_per_gpu_hour"] == 2.5
    capsys.readouterr()


def test_only_takes_a_part(write, tmp_path, capsys):
    name = write([ROW, ROW | {"framework": "sglang"}])
    assert main(["import", name, "--out", "run", "--only", "SGLANG-*"]) == 0
    assert RunReader(tmp_path / "run").sealed() == ("sglang-c8",)
    assert main(["import", name, "--out", "none", "--only", "trt-*"]) == 2
    assert "--only trt-*: matches no point; allowed: vllm-c8, sglang-c8" in capsys.readouterr().err


def test_a_row_that_a_later_file_has_again_is_replaced(write, tmp_path, capsys):
    row = {
        "hardware": "mi355x",
        "framework": "atom",
        "model": "kimik3",
        "precision": "fp4",
        "conc": 2,
        "isl": 8,
        "osl": 8,
        "workflow_run_id": 5,
        "metrics": {"tput_per_gpu": 10.0, "median_tpot": 0.02},
    }
    write([row], "a.json")
    write([row | {"metrics": {"tput_per_gpu": 20.0, "median_tpot": 0.02}}], "b.json")
    assert main(["import", "a.json", "b.json", "--out", "run"]) == 0
    reader = RunReader(tmp_path / "run")
    assert [reader.result(name).metrics["throughput_tok_s_gpu"]["total"] for name in reader.sealed()] == [20.0]
    assert "1 row replaced by those of later files" in capsys.readouterr().err


def test_where_every_row_is_refused_nothing_is_written(write, tmp_path, capsys):
    name = write([ROW | {"hw": "a100"}, 3])
    assert main(["import", name, "--out", "run"]) == 3
    assert not (tmp_path / "run").exists()
    assert capsys.readouterr().err.splitlines()[-1] == "ixbench: every row was refused, so nothing was written"
    assert main(["report", name, "--out", "out"]) == 3
    assert not (tmp_path / "out").exists()
    said = capsys.readouterr().err
    assert "2 refused: 1 unknown_hardware, 1 unknown_schema" in said


def test_a_question_is_asked_about_what_is_not_credible(write, capsys):
    assert main(["import", write(ROW | {"median_ttft": 0.0007}), "--out", "run"]) == 0
    assert (
        "question: vllm-c8: implausible: a median TTFT of 0.7 ms is not credible over a network: are these 0.7 s?"
        in capsys.readouterr().err
    )


def test_many_refusals_are_counted_after_the_first(write, capsys):
    assert main(["import", write([ROW, *[ROW | {"hw": "x"}] * 80]), "--out", "run"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "refused: 30 more"
    assert len(said) == 53


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rows.json"], "the following arguments are required: --out"),
        (["rows.json", "--out", "run", "--gpus", "0"], "argument --gpus: found '0', allowed: a whole number from 1 to 1,000,000,000"),
        (["rows.json", "--out", "run", "--date", "soon"], "argument --date: found 'soon', allowed: a date such as 2026-09-10"),
        (["rows.json", "--out", "run", "--usd-per-gpu-hour", "nan"], "argument --usd-per-gpu-hour: found 'nan', allowed: a number above 0"),
        (["rows.json", "--out", "run", "--sku", "mi355"], "--sku: unknown SKU 'mi355'; allowed: h100"),
        (["rows.json", "--out", "run", "--book", "1999"], "--book: unknown price book '1999'; allowed: 2026-04, 2026-08, 2026-09"),
        (["rows.json", "rows.json", "--out", "run"], "rows.json: is given twice; name each file once"),
        (["absent.json", "--out", "run"], "absent.json: does not exist"),
        (["bare", "--out", "run"], "bare: holds no file that an importer knows (importers: aiperf, inferencex; files: 2); allowed: result"),
        (["made", "--out", "run"], "made: is a run folder; allowed: result files of other tools; ixbench report made reads it as it is"),
        (["bare", "rows.json", "--gpus", "99999999999", "--out", "run"], "found '99999999999', allowed: a whole number from 1 to 1,000,0"),
        (["empty.json", "--out", "run"], "empty.json: is empty"),
        (["broken.json", "--out", "run"], "broken.json: is broken JSON at line 1, column"),
        (["other.json", "--out", "run"], "other.json: is neither a run folder nor a file that an importer knows (importers: "),
        (["rows.json", "--out", "rows.json"], "rows.json: is a file, or lies under one; allowed: a new folder; give another --out"),
        (["rows.json", "--out", "full"], "full: is there already and not empty; allowed: a new folder; give another --out"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(write, tmp_path, capsys, words, said):
    write(ROW)
    write({"a": 1}, "other.json")
    write(ROW, "full/rows.json")
    write({"format": 1}, "made/run.json")
    write("nothing", "bare/log.txt")
    write(ROW, "bare/.hidden.json")
    write([], "bare/deep/list.json")
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "broken.json").write_text('{"max_concurrency": 3,')
    assert main(["import", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len([line for line in err.splitlines() if line.startswith("ixbench: ")]) == 1
    assert not (tmp_path / "run").exists()


def test_an_empty_folder_may_be_given(write, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    assert main(["import", write(ROW), "--out", "run"]) == 0
    assert main(["import", "rows.json", "--out", "run"]) == 2
    capsys.readouterr()


def test_files_of_one_name_in_two_folders_are_two_runs(write, capsys):
    names = [write(ROW | {"conc": conc, "median_tpot": 0.01 * conc}, f"c{conc}/result.json") for conc in (2, 4)]
    assert main(["report", *names, "--use", "ladder", "--out", "out"]) == 0
    ladder = json.loads(Path("out/ladder.json").read_text())
    assert [point["id"] for point in ladder["curves"][0]["points"]] == ["vllm-c2", "vllm-c4"]
    capsys.readouterr()


def test_nothing_of_a_file_becomes_markup_or_a_control_character(write, capsys):
    evil = "x</title><script>alert(1)</script>\x1b]0;owned\x07\u202e\n|`*"
    rows = [ROW | {"conc": conc, "framework": evil, "model": evil, "precision": evil, "image": evil, "hw": "mi355x"} for conc in (8, 16)]
    name = write([*rows, ROW | {"hw": evil}, {evil: evil, "hardware": evil, "metrics": {evil: evil}}], "rows<b>.json")
    reporters = ("console", "ladder", "cost", "table", "page", "inferencex")
    assert main(["report", name, *[word for reporter in reporters for word in ("--use", reporter)], "--out", "out"]) == 0
    said = capsys.readouterr()
    texts = {path.name: path.read_text() for path in Path("out").iterdir() if path.suffix != ".parquet"}
    texts |= {"stdout": said.out, "stderr": said.err}
    assert {"page.html", "ladder.md", "console.txt", "table.csv"} <= texts.keys()
    for file, text in texts.items():
        assert not any(character in text for character in "\x1b\x07\u202e"), file
    assert "<script>alert" not in texts["page.html"]
    assert "<script>alert" not in texts["ladder.md"].replace("\\<", "")
    assert main(["import", name, "--out", "run"]) == 0
    assert sorted(path.name for path in Path("run/points").iterdir()) == [
        "x-title-script-alert-1-script-0-owned-c16",
        "x-title-script-alert-1-script-0-owned-c8",
    ]
    capsys.readouterr()
