"""Starts that cannot succeed: most of them are told before vLLM is started, the rest with the cause that its log gives."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.timeout(900)
FIXED = 'use = "fixed"\ninput_tokens = 64\noutput_tokens = 4\nrequests = 2'
LIMIT_S = 600.0


def test_a_flag_that_this_build_does_not_have_is_told_before_the_start(make_shell, campaign, launched_by):
    shell = make_shell()
    shell.write("campaign.toml", campaign(FIXED, concurrency=1, args={"--no-such-flag": 3, "--max-num-seq": 4}))
    done = shell.run("run", "campaign.toml", limit_s=LIMIT_S)
    assert done.code == 3, done.err
    failure = done.point("vllm-c1")["failure"]
    assert failure["code"] == "unknown_flag"
    assert "--no-such-flag" in failure["cause"]
    assert "did you mean '--max-num-seqs'" in failure["cause"]
    assert launched_by(shell.folder / "results").record["processes"] == [], "its help text was asked, and no server was started"


def test_a_missing_model_is_told_before_the_start(make_shell, campaign, tmp_path):
    shell = make_shell()
    shell.write("campaign.toml", campaign(FIXED, concurrency=1, served=tmp_path / "absent"))
    done = shell.run("run", "campaign.toml", limit_s=LIMIT_S)
    assert done.code == 2, done.err
    assert f"{tmp_path / 'absent'}" in done.err
    assert done.folders == []


def test_a_cache_too_small_for_one_request_is_diagnosed(make_shell, campaign, launched_by):
    shell = make_shell()
    shell.write("campaign.toml", campaign(FIXED, concurrency=[1, 2], args={"--num-gpu-blocks-override": 64}))
    done = shell.run("run", "campaign.toml", limit_s=LIMIT_S)
    assert done.code == 3, done.err
    failures = [done.point(point)["failure"] for point in ("vllm-c1", "vllm-c2")]
    assert {failure["code"] for failure in failures} == {"vllm-max-len-exceeds-kv"}
    assert "estimated maximum model length is" in "".join(failures[0]["evidence"])
    launch = launched_by(shell.folder / "results").record
    assert (launch["stop"]["left_pids"], launch["stop"]["busy_ports"]) == ([], [])
    assert shell.processes() == []
