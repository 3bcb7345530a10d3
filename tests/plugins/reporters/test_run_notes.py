"""What must be known of the runs behind a survey is read from their folders."""

from __future__ import annotations

import json

import pytest

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.host.source import PluginSource, failure
from ixbench.testing.folders import write_sample_run


@pytest.mark.parametrize(("reporter", "parts"), [("history", "tracks"), ("leaderboard", "boards")])
def test_what_a_run_lacked_is_read_from_its_folder(tmp_path, monkeypatch, capsys, reporter, parts):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = PluginSource(plugin="heat", distribution="lab", version="1.0")
    write_sample_run(tmp_path / "results", load_host(), plugin_failures=(failure(source, None, "gone"),))
    write_sample_run(tmp_path / "results" / "more", load_host())
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # the second time from the index
        assert main(["report", "results", "results/more", "--use", reporter]) == 0
        made = json.loads((tmp_path / "reports" / f"{reporter}.json").read_text())
        said = [note for part in made[parts] for note in part["notes"]]
        assert [note for note in said if "plugin heat (lab 1.0) could not be loaded: gone; whatever it gives" in note], said
    capsys.readouterr()
