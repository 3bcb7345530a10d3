"""The reporter holds to what every reporter must, and tells the fastest points that count."""

from __future__ import annotations

from ixbench.testing import ReporterSuite
from ixbench.testing.runs import sample_point, sample_run, too_short
from ixbench_acme.reporter import BriefOptions, BriefReporter


class TestBrief(ReporterSuite):
    """All tests of the kit."""

    reporter = BriefReporter()
    options = ({}, {"top": 1})


def test_the_fastest_come_first_and_invalid_points_do_not_count():
    run = sample_run(
        sample_point("acme-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000),
        sample_point("acme-c1", speed_tok_s_user=90, rate_tok_s_gpu=1000, concurrency=1),
        sample_point("acme-c2", speed_tok_s_user=200, rate_tok_s_gpu=1500, concurrency=2, successes=3, verdict=too_short(3)),
    )
    (artifact,) = BriefReporter().render([run], BriefOptions())
    assert artifact.content == "acme-c1: 90.0 tok/s/user, measured\nacme-c8: 50.0 tok/s/user, measured\n"
    (artifact,) = BriefReporter().render([run], BriefOptions(top=1))
    assert artifact.content == "acme-c1: 90.0 tok/s/user, measured\n"
