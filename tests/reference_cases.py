"""Run a cases file (inputs with expected answers) against the arithmetic of ixbench, one small function a kind.

    python tests/reference_cases.py FILE             compares with `expected`, prints the failures, exits 1 on any
    python tests/reference_cases.py FILE --answers   prints [{"name", "answer"}]; `expected` may be absent

A refused input answers {"error": code}. The strings "nan", "inf" and "-inf" stand for the floats, in both directions.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Case = dict[str, Any]
Answer = Any
Kind = Callable[[dict[str, Any]], Answer]

WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
UNSUPPORTED = {"error": "unsupported_kind"}


def number(value: Any) -> Any:
    """Return a number as it is, a word for a float as that float, and anything else (null, text) as NaN, which the arithmetic refuses."""
    if isinstance(value, str):
        return WORDS.get(value.strip().lower(), math.nan)
    return math.nan if value is None or isinstance(value, bool) else value


def numbers(values: Any) -> list[Any]:
    return [number(value) for value in values]


# --- curves and rungs ------------------------------------------------------------------------------------------------------------------

KINDS: dict[str, Kind] = {}
"""Kind -> the function that answers it; a kind that is not here is answered with `unsupported_kind`."""


# --- running and comparing -------------------------------------------------------------------------------------------------------------


def answer(case: Case) -> Answer:
    """Return the answer to one case."""
    kind = KINDS.get(case["kind"])
    if kind is None:
        return UNSUPPORTED
    try:
        return kind(case["input"])
    except ValueError as error:
        code = getattr(error, "code", None)
        if code is None:
            raise
        return {"error": code}


def printable(value: Answer) -> Answer:
    """Return the answer with floats that JSON does not know as words."""
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def differences(expected: Any, found: Any, *, rel: float, abs_: float, where: str = "answer") -> list[str]:
    """Return where `found` does not hold what is expected; an answer may have more keys."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return [f"{where}: expected {expected}, found {found}"]
        lines = [f"{where}.{key}: missing" for key in expected if key not in found]
        for key, value in expected.items():
            if key in found:
                lines += differences(value, found[key], rel=rel, abs_=abs_, where=f"{where}.{key}")
        return lines
    if isinstance(expected, list):
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            return [f"{where}: expected {expected}, found {found}"]
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for i, (one, other) in pairs for line in differences(one, other, rel=rel, abs_=abs_, where=f"{where}[{i}]")]
    plain = (bool, str, type(None))
    if isinstance(expected, plain) or isinstance(found, plain):
        return [] if type(expected) is type(found) and expected == found else [f"{where}: expected {expected!r}, found {found!r}"]
    close = math.isclose(expected, found, rel_tol=rel, abs_tol=abs_)
    return [] if close else [f"{where}: expected {expected!r}, found {found!r}"]


def failures(case: Case, tolerance: dict[str, float]) -> list[str]:
    """Return what is wrong with our answer to a case that says what it expects."""
    limits = tolerance | case.get("tolerance", {})
    return differences(case["expected"], printable(answer(case)), rel=limits["rel"], abs_=limits["abs"])


def main(arguments: list[str] | None = None) -> int:
    """Answer or compare, and return the exit code."""
    parser = argparse.ArgumentParser(description="Run a cases file against the arithmetic of ixbench.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--answers", action="store_true", help="print the answers as JSON instead of comparing")
    options = parser.parse_args(arguments)
    document = json.loads(options.file.read_text(encoding="utf-8"))
    cases = document["cases"]
    if options.answers:
        print(json.dumps([{"name": case["name"], "answer": printable(answer(case))} for case in cases], indent=1))
        return 0
    wrong = compared = skipped = 0
    for case in cases:
        if case["kind"] not in KINDS or "expected" not in case:
            skipped += 1
            continue
        compared += 1
        lines = failures(case, {"rel": 1e-9, "abs": 1e-9} | document.get("tolerance", {}))
        wrong += bool(lines)
        for line in lines:
            print(f"{case['name']}: {line}")
    print(f"{compared} cases compared, {wrong} wrong, {skipped} of other kinds or without an expected answer", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
