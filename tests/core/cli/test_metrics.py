"""`ixbench metrics`: everything that is installed, with its meaning; a third party's is among it."""

from __future__ import annotations

import json

import pytest

from ixbench.api.hooks import hookimpl
from ixbench.api.measure import Check, Metric
from ixbench.cli.main import main
from ixbench.cli.metrics import metrics_json, metrics_text
from ixbench.host.host import Host


class Lab:
    """A third party's plugin."""

    @hookimpl
    def ixbench_metrics(self):
        return [
            Metric(
                name="lab_words_s",
                unit="words/s",
                better="higher",
                definition="Words that the lab counts.",
                compute=lambda _: 1.0,
                needs=("chunks",),
                source="the lab",
            )
        ]

    @hookimpl
    def ixbench_checks(self):
        decide = lambda *_: None  # noqa: E731 - a rule that is always content
        return [
            Check(code="lab_heat", limit=0.5, agentic_limit=0.75, explain="The lab must be cool.", advice="Open a window.", decide=decide),
            Check(code="lab_light", limit=None, explain="The light must be on.", decide=decide),
        ]


@pytest.fixture
def host():
    return Host.of({"lab": Lab()})


def test_json_holds_what_is_known_of_each(host):
    assert metrics_json(host) == {
        "metrics": [
            {
                "name": "lab_words_s",
                "unit": "words/s",
                "better": "higher",
                "needs": ["chunks"],
                "definition": "Words that the lab counts.",
                "source": "the lab",
                "plugin": "lab",
            }
        ],
        "checks": [
            {
                "code": "lab_heat",
                "limit": 0.5,
                "agentic_limit": 0.75,
                "rule": "The lab must be cool.",
                "advice": "Open a window.",
                "plugin": "lab",
            },
            {"code": "lab_light", "limit": None, "agentic_limit": None, "rule": "The light must be on.", "advice": None, "plugin": "lab"},
        ],
    }


def test_text_is_a_paragraph_each(host):
    assert metrics_text(host).splitlines() == [
        "lab_words_s  [words/s], higher is better; needs chunks  (lab)",
        "    Words that the lab counts.",
        "",
        "Verdict rules, each with its usual limit, which [limits] <code> = number changes:",
        "",
        "lab_heat  limit 0.5, agentic 0.75  (lab)",
        "    The lab must be cool.",
        "    If not: Open a window.",
        "",
        "lab_light  (lab)",
        "    The light must be on.",
    ]


def test_the_command_prints_what_is_installed(capsys):
    assert main(["metrics", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"ttft_s", "tpot_s", "goodput_req_s", "task_time_s"} <= {row["name"] for row in found["metrics"]}
    assert {"errors", "too_short"} <= {row["code"] for row in found["checks"]}
    assert main(["metrics"]) == 0
    assert "ttft_s  [s], lower is better; needs chunks\n" in capsys.readouterr().out
