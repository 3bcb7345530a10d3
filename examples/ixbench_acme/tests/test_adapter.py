"""The adapter holds to what every adapter must, and its own options become the server's flags."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ixbench.testing import AdapterSuite
from ixbench.testing.deployments import sample_deployment
from ixbench_acme import ixbench_signatures
from ixbench_acme.adapter import AcmeAdapter


class TestAcme(AdapterSuite):
    """All tests of the kit."""

    adapter = AcmeAdapter()
    options = ({}, {"tokens_per_s": 50, "vocabulary": "words.txt"})
    signatures = ixbench_signatures()
    startup_log = "acme 1.0: words on http://127.0.0.1:8000"


def test_options_become_flags():
    argv = AcmeAdapter().plan(sample_deployment(AcmeAdapter(), {"tokens_per_s": 62.5, "slots": 3})).server.argv
    assert argv[1:5] == ("-m", "ixbench_acme.server", "--port", "{port:http}")
    assert " ".join(argv[7:]) == "--tokens-per-s 62.5 --first-token-ms 20 --slots 3"


def test_what_the_server_would_refuse_or_let_wait_is_told():
    deployment = replace(sample_deployment(AcmeAdapter(), {"slots": 3}), args={"--fast": True})
    assert [(finding.level, finding.code) for finding in AcmeAdapter().validate(deployment)] == [
        ("error", "unknown_flag"),
        ("warning", "more_users_than_slots"),
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("acme: there is no vocabulary /data/words.txt", "acme-no-vocabulary"),
        ("acme: the vocabulary words.txt has no word", "acme-empty-vocabulary"),
        ("acme 1.0: words on http://127.0.0.1:8000", None),
    ],
)
def test_the_log_tells_why_it_failed(line, found):
    matching = [one.id for one in ixbench_signatures() if re.search(one.pattern, line)]
    assert matching == ([found] if found else [])
