"""`[run] repeats` from the file to the ladder: passes, ids, seeds, one frontier for each, and going on after an interruption."""

from __future__ import annotations

import json

import pytest

PROMPTS = [f"tell me about number {number}" for number in range(24)]
SLOW = {"default": {"prefill_s": 0.01, "gap_s": 0.003}}
RUN = """
[run]
repeats = 3
[limits]
too_short = 1
client_lag = 100
client_wait = 1
coverage = 0
not_steady = 1
slice_spread = 1
[report]
rungs = [1, 1000000]
primary = 1
range = "min_slo"
use = ["console", "ladder", "table"]
"""


@pytest.fixture
def campaign(shell, scripted):
    """Write a campaign of two deployments with launches of their own."""
    shell.write_prompts(PROMPTS)

    def deployment(name, *flags):
        return f'[[deployment]]\nname = "{name}"\nengine = "scripted"\nconcurrency = [1, 2]\n{scripted(SLOW, *flags)}\n'

    shell.write_campaign(f"{deployment('a')}{deployment('b', '--ready-after', '0.1')}{RUN}")


def ids(*names):
    passes = ("", "-rep2", "-rep3")
    return [f"{name}-c{users}{repeat}" for repeat in passes for name in names for users in (1, 2)]


def sealed(done):
    return {path.parent.name for path in done.folder.glob("points/*/point.json")}


def test_plan_tells_every_pass(shell, campaign):
    plan = json.loads(shell.run("plan", "campaign.toml", "--json").out)
    assert [point["id"] for point in plan["points"]] == ids("a", "b")
    assert [point["repeat"] for point in plan["points"]] == [1] * 4 + [2] * 4 + [3] * 4
    assert [launch["points"] for launch in plan["launches"]] == [ids("a"), ids("b")]
    assert shell.run("plan", "campaign.toml").out.startswith("Prompts: 12 points (3 passes) in 2 launches")


def test_each_point_is_measured_three_times_in_whole_passes(shell, campaign):
    done = shell.run("run", "campaign.toml")
    assert sealed(done) == set(ids("a", "b")), done.err
    points = {name: done.point(name) for name in ids("a", "b")}
    assert {name: point["identity"]["repeat"] for name, point in points.items()} == {
        name: 2 if name.endswith("-rep2") else 3 if name.endswith("-rep3") else 1 for name in points
    }
    # In the order of the plan, so the engines take turns and are started anew for each pass.
    began = [done.records(name)[0].send_ns for name in ids("a", "b")]
    assert began == sorted(began)
    launches = [json.loads(path.read_text()) for path in done.folder.glob("launches/*/launch.json")]
    assert [len(launch["starts"]) for launch in launches] == [3, 3]
    seeds = {point["identity"]["repeat"]: point["provenance"]["schedule"]["seed"] for point in points.values()}
    assert len(set(seeds.values())) == 3

    ladder = json.loads((done.folder / "reports" / "ladder.json").read_text())
    assert (ladder["repeats"], ladder["configs"]) == (3, 4)
    rung = ladder["rungs"][0]
    assert rung["repeats"]["runs"] == rung["repeats"]["reached"] == 3
    reads = rung["repeats"]["tok_s_gpu"]
    assert rung["tok_s_gpu"] == pytest.approx(sum(reads) / 3)
    assert rung["repeats"]["half_width_tok_s_gpu"] > 0
    assert len(ladder["curves"]) == 1, "two deployments of one engine stand on one curve"
    assert rung["runner_up"] is None
    assert "Repeats: 3 runs of each point." in " ".join(done.out.split())
    assert " +- " in (done.folder / "reports" / "ladder.md").read_text()


def test_what_was_left_is_taken_up_again(shell, campaign):
    first = shell.run("run", "campaign.toml", "--only", "a-c*", "--only", "b-c2-rep2")
    assert sealed(first) == {*ids("a"), "b-c2-rep2"}
    stamps = {name: (first.folder / "points" / name / "point.json").stat().st_mtime_ns for name in sealed(first)}
    again = shell.run("run", "campaign.toml", "--resume")
    assert again.folder == first.folder
    assert sealed(again) == set(ids("a", "b"))
    assert all((again.folder / "points" / name / "point.json").stat().st_mtime_ns == stamp for name, stamp in stamps.items())
    done = shell.run("report", str(again.folder), "--recompute", "--use", "ladder", "--out", "again")
    assert done.code == 0, done.err
    assert json.loads((shell.folder / "again" / "ladder.json").read_text())["rungs"][0]["repeats"]["reached"] == 3


def test_a_part_of_the_repeats_has_no_mean(shell, campaign):
    done = shell.run("run", "campaign.toml", "--only", "a-c1", "--only", "a-c1-rep2")
    rung = json.loads((done.folder / "reports" / "ladder.json").read_text())["rungs"][0]
    assert rung["tok_s_gpu"] is None
    assert [(partly["reached"], partly["runs"]) for partly in rung["partly"]] == [(2, 3)]
    assert "reached it in 2 of 3 repeats" in " ".join(done.out.split())
