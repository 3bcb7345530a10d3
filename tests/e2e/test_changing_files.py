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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("changed", "ixbench: point scripted-c4: workload 'prompts' replays other things than when the run began (corpus sha256:"),
        ("gone", "prompts.jsonl: cannot be read: No such file or directory; give the file of your prompts"),
    ],
)
def test_what_was_measured_is_kept_and_the_rest_can_be_measured_when_the_file_is_back(shell, measuring, change, says):
    prompts = shell.folder / "prompts.jsonl"
    content = prompts.read_bytes()
    if change == "gone":
        prompts.unlink()
    else:
        shell.write_prompts([f"what is {number}?" for number in range(PROMPTS)])
    done = measuring.end()
    assert done.code == 1, done.err
    assert says in done.err
    assert "scripted-c1" in done.out, "what there is is reported"
    assert done.err.splitlines()[-1] == "1 point not measured; go on with: ixbench run campaign.toml --resume"
    first = done.point("scripted-c1")
    assert first["accounting"]["ok"] == PROMPTS
    assert first["identity"]["corpus"] == first["provenance"]["schedule"]["corpus"]

    shell.write_prompts([f"what is {number}?" for number in range(PROMPTS)])
    for asked in ((), ("--only", "scripted-c4")):
        refused = shell.run("run", "campaign.toml", "--resume", *asked)
        assert refused.code == 2, refused.err
        assert f"ixbench: point scripted-c1: it was measured with corpus {first['identity']['corpus']}, and" in refused.err

    prompts.write_bytes(content)
    resumed = shell.run("run", "campaign.toml", "--resume")
    assert resumed.code in {0, 1}, resumed.err
    assert resumed.point("scripted-c1") == first
    assert resumed.point("scripted-c4")["identity"]["corpus"] == first["identity"]["corpus"]
