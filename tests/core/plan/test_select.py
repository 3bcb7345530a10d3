"""Which points `--only` means."""

from __future__ import annotations

import pytest

from ixbench.model.errors import InputError
from ixbench.plan.select import matching

IDS = ("vllm-c1", "vllm-c16", "atom-c1")


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["vllm-*"], {"vllm-c1", "vllm-c16"}),
        (["*-C1"], {"vllm-c1", "atom-c1"}),
        (["vllm-c16", "ATOM-*"], {"vllm-c16", "atom-c1"}),
        ([], set()),
    ],
)
def test_patterns_match_whole_ids_in_any_case(patterns, chosen):
    assert matching(IDS, patterns) == chosen


def test_each_pattern_that_matches_nothing_is_a_fault():
    with pytest.raises(InputError) as refused:
        matching(IDS, ["trt-*", "vllm-*", " "])
    assert [str(fault) for fault in refused.value.faults] == [
        "--only trt-*: matches no point; allowed: vllm-c1, vllm-c16, atom-c1",
        "--only: the value is empty; allowed: vllm-c1, vllm-c16, atom-c1; leave the flag out for all points",
    ]


def test_of_very_many_ids_only_some_are_told():
    with pytest.raises(InputError) as refused:
        matching([f"a-c{number}" for number in range(50)], ["b"])
    assert str(refused.value).endswith("a-c38, a-c39, ...")
