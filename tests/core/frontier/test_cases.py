"""Every case of the reference file is a test of its own; the file lies beside the checkout, where there is one."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

TESTS = Path(__file__).resolve().parents[2]
FILE = TESTS.parent.parent / "shared" / "data" / "frontier" / "cases.json"
DOCUMENT = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"cases": []}


def load_adapter() -> ModuleType:
    """Import tests/reference_cases.py, which is a script and belongs to no package."""
    spec = importlib.util.spec_from_file_location("reference_cases", TESTS / "reference_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ADAPTER = load_adapter()
CASES = [case for case in DOCUMENT["cases"] if case["kind"] in ADAPTER.KINDS]


@pytest.mark.parametrize("case", CASES or [pytest.param(None, marks=pytest.mark.skip(reason=f"{FILE.name} is not beside the checkout"))])
def test_reference_case(case):
    assert ADAPTER.failures(case, DOCUMENT["tolerance"]) == []


def test_no_kind_of_curves_and_money_is_left_out():
    kinds = {"frontier", "slopes", "rung", "inverse", "select", "cost", "cost_bases", "cost_split", "session_cost"}
    kinds |= {"format", "pct_faster", "gpus", "disagg", "disagg_identity", "property"}
    assert kinds <= ADAPTER.KINDS.keys()


def write(folder: Path, *cases: dict) -> str:
    file = folder / "cases.json"
    file.write_text(json.dumps({"schema": 1, "tolerance": {"rel": 1e-9, "abs": 1e-9}, "cases": list(cases)}), encoding="utf-8")
    return str(file)


PCT = {"name": "faster", "kind": "pct_faster", "input": {"a": 250, "b": 200}}


def test_answers_need_no_expected_values(tmp_path, capsys):
    unknown = {"name": "later", "kind": "no_such_kind", "input": {}}
    refused = {"name": "refused", "kind": "frontier", "input": {"points": [["inf", 1]]}}
    assert ADAPTER.main([write(tmp_path, PCT, unknown, refused), "--answers"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"name": "faster", "answer": {"pct": 25}},
        {"name": "later", "answer": {"error": "unsupported_kind"}},
        {"name": "refused", "answer": {"error": "bad_point"}},
    ]


def test_a_broken_case_does_not_cost_the_answers_to_the_others(tmp_path, capsys):
    broken = {"name": "broken", "kind": "pct_faster", "input": {"a": 1}}
    assert ADAPTER.main([write(tmp_path, broken, PCT), "--answers"]) == 0
    output = capsys.readouterr()
    assert [one["answer"].get("error", one["answer"].get("pct")) for one in json.loads(output.out)] == ["crashed", 25]
    assert "broken: KeyError" in output.err


def test_a_wrong_answer_is_printed_and_fails(tmp_path, capsys):
    assert ADAPTER.main([write(tmp_path, PCT | {"expected": {"pct": 26}})]) == 1
    assert "faster: answer.pct: expected 26, found 25" in capsys.readouterr().out


def test_a_right_answer_passes(tmp_path):
    assert ADAPTER.main([write(tmp_path, PCT | {"expected": {"pct": 25}})]) == 0


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"a": 1}, {}),
        ({"a": 1}, [1]),
        ([1, 2], [1]),
        (None, 0),
        (0, None),
        (True, 1),
        (1, True),
        ("1", 1),
        (1.0, 1.0 + 1e-6),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}),
    ],
)
def test_differences_are_found(expected, found):
    assert len(ADAPTER.differences(expected, found, rel=1e-9, abs_=1e-9)) == 1


@pytest.mark.parametrize(("expected", "found"), [({"a": 1}, {"a": 1, "b": 2}), (1, 1.0), ([1.0], (1.0 + 1e-12,)), (None, None)])
def test_more_keys_and_rounding_are_no_difference(expected, found):
    assert ADAPTER.differences(expected, found, rel=1e-9, abs_=1e-9) == []


def test_floats_that_json_does_not_know_are_words():
    assert ADAPTER.printable({"a": [float("nan"), float("inf"), -float("inf"), 1.5]}) == {"a": ["nan", "inf", "-inf", 1.5]}
