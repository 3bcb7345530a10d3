"""The exit code of a run, and the command that goes on with it."""

from __future__ import annotations

import argparse
import os
import signal

import pytest

import ixbench_plugins
from ixbench.api.hooks import hookimpl
from ixbench.campaign.document import Document
from ixbench.campaign.read import campaign_from_document
from ixbench.cli.parser import Parser, parse
from ixbench.cli.run import COMMAND, resume_command
from ixbench.host.host import Host
from ixbench.model.events import RunStarted
from ixbench.model.result import Failure, Verdict
from ixbench.plan.expand import make_plan
from ixbench.run.campaign import exit_code, run_campaign
from ixbench.testing.runs import sample_point, too_short

VALID = Verdict(status="valid")
WARNED = Verdict(status="valid_with_warnings")
FAILURE = Failure(code="oom", cause="no memory", fix="")


def point(name, verdict=VALID, failure=None):
    speed = None if failure else 50.0
    return sample_point(name, speed_tok_s_user=speed, rate_tok_s_gpu=speed, verdict=None if failure else verdict, failure=failure)


@pytest.mark.parametrize(
    ("finished", "code"),
    [
        ([point("a"), point("b")], 0),
        ([point("a"), point("b", WARNED)], 0),
        ([point("a"), point("b", too_short(3))], 1),
        ([point("a"), point("b", failure=FAILURE)], 1),
        ([point("a")], 1),
        ([point("a", too_short(3)), point("b", too_short(3))], 1),
        ([point("a", failure=FAILURE), point("b", failure=FAILURE)], 3),
        ([point("a", failure=FAILURE)], 3),
        ([], 3),
    ],
    ids=["valid", "warnings", "invalid", "failed", "missing", "all invalid", "all failed", "failed and missing", "nothing"],
)
def test_exit_code(finished, code):
    assert exit_code(finished, ["a", "b"]) == code


def test_points_that_were_not_promised_are_not_missed():
    assert exit_code([point("a")], []) == 0


def command(*words):
    parser = Parser(prog="ixbench run")
    COMMAND.configure(parser)
    arguments = parse(parser, words)
    assert isinstance(arguments, argparse.Namespace)
    return resume_command(arguments)


def test_the_command_that_goes_on_has_all_that_the_run_is_found_by():
    assert command("my file.toml") == "ixbench run 'my file.toml' --resume"
    words = ("b.toml", "--results", "r", "--only", "vllm-*", "--set", "workload.requests=9", "--set", "a=b c", "--attach", "http://h:1")
    assert command(*words, "--resume") == (
        "ixbench run b.toml --resume --results r --only 'vllm-*' --set workload.requests=9 --set 'a=b c' --attach http://h:1"
    )


def test_it_shows_no_secret():
    said = command("b.toml", "--attach", "http://me:hunter22@h:1", "--set", "deployment.a.env.HF_TOKEN=hf_123456")
    assert "hunter22" not in said
    assert "hf_123456" not in said


class Interrupter:
    """Presses Ctrl-C between the header line and the first point."""

    @hookimpl
    def ixbench_on_event(self, event):
        if isinstance(event, RunStarted):
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_before_the_first_point_says_how_to_go_on(tmp_path, capsys):
    table = {
        "schema": 1,
        "model": {"id": "m"},
        "workload": {"use": "fixed", "requests": 1},
        "deployment": [{"engine": "endpoint", "url": "http://127.0.0.1:9", "concurrency": [1, 2]}],
    }
    host = Host.of({"builtin": ixbench_plugins, "interrupter": Interrupter()})
    campaign = campaign_from_document(Document(where="t.toml", table=table), host)
    plan = make_plan(campaign, host)
    code = run_campaign(campaign, plan, host, results=tmp_path, resume_with="ixbench run t.toml --resume")
    lines = capsys.readouterr().err.splitlines()
    (folder,) = tmp_path.iterdir()
    assert code == 130
    assert lines[-3:] == [
        "ixbench: interrupted",
        f"results: {folder}",
        "2 points not measured; go on with: ixbench run t.toml --resume",
    ]
