from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.frontier.task_cost import task_costs
from ixbench.model.result import Failure
from ixbench.testing.runs import SAMPLE_QUOTES, sample_point, sample_run, too_short


def point(name="vllm-c4", *, tasks=12, phase_s=1800.0, **fields):
    made = sample_point(name, speed_tok_s_user=50, rate_tok_s_gpu=5000, **{"agentic": True} | fields)
    return replace(made, metrics=made.metrics | {"tasks_completed": tasks, "phase_s": phase_s})


def test_all_gpus_are_paid_for_the_whole_phase():
    (cost,) = task_costs([sample_run(point(gpus=8))])
    assert (cost.point, cost.tasks, cost.phase_s, cost.gpus) == ("vllm-c4", 12, 1800.0, 8)
    assert list(cost.usd.values()) == pytest.approx([quote.usd_per_gpu_hour * 8 * 0.5 / 12 for quote in SAMPLE_QUOTES])
    (short,) = task_costs([sample_run(point(gpus=8, phase_s=0.5))])
    assert list(short.usd.values()) == pytest.approx([quote.usd_per_gpu_hour * 8 * 0.5 / 3600 / 12 for quote in SAMPLE_QUOTES])


def test_nothing_completed_has_no_cost_and_not_zero():
    (cost,) = task_costs([sample_run(point(tasks=0))])
    assert set(cost.usd.values()) == {None}


@pytest.mark.parametrize(
    "left_out",
    [
        point(agentic=False),
        point(gpus=None),
        point(tasks=None),
        point(phase_s=None),
        point(phase_s=0.0),
        point(verdict=too_short(3)),
        point(failure=Failure(code="oom", cause="The GPU ran out of memory.", fix="")),
    ],
)
def test_what_cannot_be_priced_is_left_out(left_out):
    assert task_costs([sample_run(left_out)]) == ()


def test_without_a_price_there_are_none():
    assert task_costs([sample_run(point(), quotes=())]) == ()


def test_each_sku_is_paid_at_its_own_price():
    own, other = SAMPLE_QUOTES[0], replace(SAMPLE_QUOTES[0], sku="b200", usd_per_gpu_hour=9.0)
    run = sample_run(point("a"), point("b", hardware="b200"), point("c", hardware="h200"), quotes=(own, other))
    assert [(cost.point, cost.usd[own.label]) for cost in task_costs([run])] == [
        ("a", pytest.approx(own.usd_per_gpu_hour * 8 * 0.5 / 12)),
        ("b", pytest.approx(9.0 * 8 * 0.5 / 12)),
    ]
    anywhere = sample_run(point(hardware="h200"), quotes=(replace(own, sku=""),))
    assert len(task_costs([anywhere])) == 1
