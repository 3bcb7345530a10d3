"""Prompts with known answers."""

from __future__ import annotations

import re

import pytest

from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec
from ixbench.model.launch import Identity
from ixbench.model.sanity import KNOWN_ANSWERS, sanity_prompts, wants_sanity


def test_nothing_is_asked_where_no_answer_has_a_meaning():
    assert sanity_prompts(Identity()) == KNOWN_ANSWERS
    assert sanity_prompts(Identity(acceptance_length=2.51)) == ()


@pytest.mark.parametrize(
    "answers", [("Paris.", "10"), ("The user asks about Paris, so", "the next one is ten"), ("PARIS", "2, 4, 6, 8, 10, 12")]
)
def test_good_answers(answers):
    for asked, answer in zip(KNOWN_ANSWERS, answers, strict=True):
        assert re.search(asked.expect, answer, re.IGNORECASE)


@pytest.mark.parametrize("answer", ["", "!!!!!!!!", "comparison", "parisian 100 1010", "the the the the"])
def test_garbage(answer):
    assert not any(re.search(asked.expect, answer, re.IGNORECASE) for asked in KNOWN_ANSWERS)


@pytest.mark.parametrize(
    ("native", "precision", "choice", "wanted"),
    [
        (True, "fp4", None, True),
        (True, "FP4", None, True),
        (True, "MXFP4", None, True),
        (True, "nvfp4", None, True),
        (True, "w4a16", None, False),
        (False, "fp4", None, False),
        (None, "fp4", None, False),
        (True, "fp8", None, False),
        (None, None, None, False),
        (None, None, True, True),
        (True, "fp4", False, False),
    ],
)
def test_where_they_are_called_for(native, precision, choice, wanted):
    model = ModelSpec(id="m", label="m", precision=precision)
    deployment = Deployment(name="d", engine="e", model=model, hardware=HardwareSpec(native_fp4=native), options=None)
    assert wants_sanity(deployment, choice) is wanted
