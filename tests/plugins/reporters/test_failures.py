"""What tables say of a failed point: cause, remedy, and the line that shows it, as sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.api.report import Failure
from ixbench.testing.runs import sample_point, sample_run
from ixbench_plugins.reporters.points import LONGEST_SEEN, point_rows, sentences_of


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (Failure(code="c", cause="It died", fix=""), "It died"),
        (Failure(code="c", cause="It died", fix="Look."), "It died. Look."),
        (Failure(code="c", cause="It died.", fix="Look."), "It died. Look."),
        (
            Failure(code="unknown-cli-flag", cause="A flag is unknown.", fix="Check it.", evidence=("line 6: error: --hots",)),
            "A flag is unknown. Check it. Seen: line 6: error: --hots",
        ),
        (Failure(code="c", cause="It died", fix="", evidence=("first", "the  last\nword")), "It died. Seen: the last word"),
    ],
)
def test_a_failure_is_told_in_sentences_with_its_last_line(failure, told):
    run = sample_run(replace(sample_point("acme-c1", speed_tok_s_user=1, rate_tok_s_gpu=1), failure=failure))
    assert sentences_of(point_rows([run]))[0] == f"acme-c1: {failure.code}: {told}"


def test_a_long_line_is_cut():
    failure = Failure(code="c", cause="It died", fix="", evidence=("x" * 1000,))
    (sentence, *_) = sentences_of(
        point_rows([sample_run(replace(sample_point("acme-c1", speed_tok_s_user=1, rate_tok_s_gpu=1), failure=failure))])
    )
    assert sentence == f"acme-c1: c: It died. Seen: {'x' * (LONGEST_SEEN - 3)}..."
