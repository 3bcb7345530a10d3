"""docs/many-runs.md names every option of the reporters over many runs, and its reporter runs."""

from __future__ import annotations

import re
from pathlib import Path

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.store.index import FILE, index_folder
from ixbench.testing.folders import write_sample_run
from ixbench_plugins.reporters.history import HistoryOptions
from ixbench_plugins.reporters.leaderboard import LeaderboardOptions

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "many-runs.md").read_text(encoding="utf-8")


def test_the_options_are_those_of_the_reporters():
    parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
    for name, options in (("leaderboard", LeaderboardOptions), ("history", HistoryOptions)):
        assert re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", parts[name].partition("| what a cell")[0], re.MULTILINE) == list(
            options.model_fields
        )
    assert f"default {LeaderboardOptions.model_fields['days'].default}" in parts["leaderboard"]


def test_the_place_of_the_index_is_told():
    assert f"{index_folder().relative_to(index_folder().parents[1])}/{FILE}" in TEXT


def test_the_reporter_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = write_sample_run(tmp_path / "results", load_host())
    (run.parent / "notes").mkdir()
    (tmp_path / "ages.py").write_text(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0])
    monkeypatch.chdir(tmp_path)
    assert main(["report", "results", "--use", "ages.py"]) == 0
    assert capsys.readouterr().out == f"not read  notes  is no run folder: it has no run.json\n2026-11-30T06:45:01Z  {run.name}\n"
