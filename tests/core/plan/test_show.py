"""Plans in print: complete, the same in every call, without secrets."""

from __future__ import annotations

import json

import pytest

from ixbench.campaign.read import read_campaign
from ixbench.model.errors import InputError
from ixbench.plan.expand import make_plan
from ixbench.plan.select import select_points
from ixbench.plan.show import plan_json, plan_text

FILE = """
schema = 1
[model]
id = "acme/big"
[hardware]
sku = "mi355x"
gpus = 8
[workload]
use = "steady"
length = "90s"
[[deployment]]
engine = "acme"
recipe = "big"
concurrency = [4, 6]
args = { --api-key = "sk-secret-1", --seed = 7 }
env = { HF_TOKEN = "hf-secret-2", ACME_PROXY = "http://ann:pw-secret-3@proxy" }
[[deployment]]
engine = "plain"
url = "http://bob:pw-secret-4@h:1"
rate = 0.5
"""
NOTE = "recipe big has no settings for concurrency 6 without KV offload; those of concurrency 8 are used"


@pytest.fixture
def plan(write, house):
    return make_plan(read_campaign(write(FILE), house), house)


def test_json(plan):
    found = plan_json(plan)
    assert list(found) == ["points", "launches", "gpus", "seconds"]
    assert (found["gpus"], found["seconds"]) == (8, 270.0)
    point = found["points"][1]
    assert point == {
        "id": "acme-c6",
        "launch": plan.launches[1].id,
        "deployment": "acme",
        "engine": "acme",
        "recipe": "big",
        "model": "acme/big",
        "hardware": "mi355x",
        "gpus": 8,
        "workload": "steady",
        "concurrency": 6,
        "rate": None,
        "settings": {},
        "repeat": 1,
        "seconds": 90.0,
        "notes": [NOTE],
    }
    assert found["points"][2]["rate"] == 0.5
    launch = found["launches"][0]
    assert launch["argv"] == [
        *("acme", "acme/big", "--port", "{port:http}", "--max-num-seqs", "32", "--draft", "2"),
        *("--quiet", "--api-key", "***", "--seed", "7"),
    ]  # fmt: skip
    assert launch["env"]["ACME_FAST"] == {"value": "1", "reason": "it is faster", "origin": "recipe big"}
    assert launch["env"]["ACME_PORT"] == {"value": "{port:http}", "reason": "the engine reads it", "origin": "adapter acme"}
    assert launch["env"]["HF_TOKEN"] == {"value": "***", "reason": "set by benchmarks.toml", "origin": "benchmarks.toml"}
    assert list(launch["env"]) == sorted(launch["env"])
    assert launch["processes"][0]["argv"] == launch["argv"]
    assert (launch["engine"], launch["runtime"], launch["image"], launch["points"]) == ("acme", "process", "acme/image:1", ["acme-c4"])
    running = found["launches"][2]
    assert (running["argv"], running["env"], running["processes"]) == ([], {}, [])
    assert (running["identity"]["spec_method"], running["identity"]["kv_offload"]) == ("unknown", "unknown")
    assert (running["url"], running["headers"]) == ("http://***@h:1", {"X-Plain": "***"})


def test_two_calls_give_the_same_bytes_and_no_secret(plan, write, house):
    first = json.dumps(plan_json(plan)) + plan_text(plan)
    again = make_plan(read_campaign(write(FILE), house), house)
    assert first == json.dumps(plan_json(again)) + plan_text(again)
    assert "secret-" not in first


def test_text(plan):
    ids = [launch.id for launch in plan.launches]
    lines = plan_text(plan).splitlines()
    assert lines[0] == "3 points in 3 launches, 8 GPUs, about 4 min of load"
    assert lines[2:4] == [f"{'point':<10}  engine  {'launch':<14}  load for", f"acme-c4     acme    {ids[0]}   90 s"]
    assert f"launch {ids[0]}: acme, 1 point" in lines
    assert "  server: acme acme/big --port '{port:http}' --max-num-seqs 32 --draft 2 --quiet --api-key '***' --seed 7" in lines
    assert "    ACME_FAST=1  # recipe big: it is faster" in lines
    assert "  already running at http://***@h:1" in lines
    assert lines[-1] == f"  acme-c6: {NOTE}"


def test_only(plan):
    part = select_points(plan, ["ACME-*6", "plain*"])
    assert [point.id for point in part.points] == ["acme-c6", "plain-r0.5"]
    assert [launch.points for launch in part.launches] == [("acme-c6",), ("plain-r0.5",)]
    assert part.launches[0].id == plan.launches[1].id
    assert part.seconds == 180.0
    assert select_points(plan, []) == plan


def test_only_nothing(plan):
    with pytest.raises(InputError, match=r"^--only acme: matches no point; allowed: acme-c4, acme-c6, plain-r0.5$"):
        select_points(plan, ["acme", "plain*"])


@pytest.mark.parametrize("empty", ["", " "])
def test_only_an_empty_text(plan, empty):
    with pytest.raises(InputError, match=r"^--only: the value is empty; allowed: acme-c4, .*; leave the flag out for all points$"):
        select_points(plan, [empty])
