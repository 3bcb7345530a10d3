"""Files that others change or take away while points are measured: each point says what it replayed, and none is lost."""

from __future__ import annotations

import pytest

PROMPTS = 100
SLOW = {"default": {"first_s": 0.05, "tokens": 1}}
"""The first point takes five seconds or more."""


@pytest.fixture
def measuring(shell, scripted):
    """Return a run whose first point of two is being measured."""
    shell.write_prompts([f"tell me about number {number}" for number in range(PROMPTS)])
    shell.write_campaign(f'[[deployment]]\nengine = "scripted"\nconcurrency = [1, 4]\n{scripted(SLOW)}')
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: any(path.stat().st_size for path in running.results.glob("*/points/scripted-c1/requests.jsonl")))
    return running


def test_a_point_is_known_by_the_prompts_that_it_replayed(shell, measuring):
    shell.write_prompts([f"what is {number}?" for number in range(PROMPTS)])
    done = measuring.end()
    assert done.code in {0, 1}, done.err
    points = [done.point(name) for name in ("scripted-c1", "scripted-c4")]
    corpora = [point["identity"]["corpus"] for point in points]
    assert corpora == [point["provenance"]["schedule"]["corpus"] for point in points]
    assert corpora[0] != corpora[1], "they may not stand on one curve"


def test_a_point_whose_prompts_are_taken_away_is_kept_and_the_next_says_why_it_failed(shell, measuring):
    (shell.folder / "prompts.jsonl").unlink()
    done = measuring.end()
    assert done.code == 1, done.err
    first, second = (done.point(name) for name in ("scripted-c1", "scripted-c4"))
    assert first["accounting"]["ok"] == PROMPTS
    assert first["identity"]["corpus"] == first["provenance"]["schedule"]["corpus"]
    assert second["failure"]["code"] == "workload_failed"
    assert "prompts.jsonl: cannot be read: No such file or directory" in second["failure"]["cause"]
    assert second["identity"]["corpus"] is None
