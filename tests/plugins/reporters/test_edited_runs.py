"""Run folders that someone edited: reports over many runs leave them out or read what they say, and never fail for the others."""

from __future__ import annotations

import json
import random
import shutil

import pytest

from ixbench.host.load import load_host
from ixbench.report.survey import survey_runs
from ixbench.testing.folders import write_sample_run
from ixbench_plugins.reporters.history import HistoryReporter
from ixbench_plugins.reporters.leaderboard import LeaderboardReporter

ODD = (
    5,
    -1,
    0,
    "x",
    None,
    [],
    {},
    [1],
    {"a": 1},
    1e308,
    "2026-99-99",
    "9999-12-31",
    True,
    "\x1b[31m",
    10**12,
    "../../etc",
    [[]],
    "<script>",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    run = write_sample_run(tmp_path_factory.mktemp("results"), load_host())
    (run / "launches" / "vllm").mkdir(parents=True)
    process = {"name": "server", "argv": ["vllm", "--x", "1"], "env": {"A": {"value": "1", "origin": "user", "reason": "asked"}}}
    launch = {"id": "vllm", "ports": {"http": 9000}, "tmp": "/tmp/x", "runtime_facts": {"image_digest": "sha256:0"}, "processes": [process]}
    (run / "launches" / "vllm" / "launch.json").write_text(json.dumps(launch))
    return run


def places(value, path=()):
    """Yield the paths of everything in JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("seed", range(6))
def test_an_edited_folder_spoils_no_report(made, tmp_path, monkeypatch, seed):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    chosen = random.Random(seed)
    good = tmp_path / "results" / "good"
    shutil.copytree(made, good)
    for number in range(5):
        bad = tmp_path / "results" / f"bad{number}"
        shutil.copytree(made, bad)
        file = chosen.choice([bad / "run.json", *sorted(bad.glob("points/*/point.json")), *bad.glob("launches/*/launch.json")])
        content = json.loads(file.read_text())
        *above, last = chosen.choice([path for path in places(content) if path[0] not in {"metrics", "intervals"}])
        inner = content
        for key in above:
            inner = inner[key]
        inner[last] = chosen.choice(ODD)
        file.write_text(json.dumps(content))
    runs = survey_runs([tmp_path / "results"], load_host())
    assert [run.id for run in runs if not run.unreadable][-1] == "good"
    for reporter in (LeaderboardReporter(), HistoryReporter()):
        page, text, _ = (file.content for file in reporter.render(runs, reporter.Options()))
        assert "\x1b" not in page + text
        assert "<script>" not in page
        assert all(run.id in text for run in runs if run.unreadable)
