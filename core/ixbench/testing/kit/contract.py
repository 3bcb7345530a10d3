"""What all kinds of plugins have in common: a name that the host takes, a summary, and options that refuse what they do not know."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from ixbench.host.host import Host
from ixbench.host.specs import Specs, hookimpl
from ixbench.model.launch import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel, ValidationError

OptionsT = TypeVar("OptionsT", bound="BaseModel")


def assert_given(suite: object, what: str) -> None:
    """See while tests are collected that a suite has what it tests, an instance; pytest then prints the sentence alone.

    :param what: the suite's attribute for it.
    """
    name, found = type(suite).__name__, getattr(suite, what, None)
    if found is None:
        raise pytest.Collector.CollectError(f"{name} has no {what}: the class needs a line `{what} = ...` with an instance of yours")
    if isinstance(found, type):
        raise pytest.Collector.CollectError(
            f"{name}: {what} is the class {found.__name__}; give an instance: `{what} = {found.__name__}()`"
        )


def options_of(options: type[OptionsT], table: Mapping[str, Any]) -> OptionsT:
    """Return a table of options as an instance.

    :raises AssertionError: with each key that is refused.
    """
    from pydantic import ValidationError

    try:
        return options.model_validate(dict(table))
    except ValidationError as error:
        raise AssertionError(f"the options {dict(table)} are refused: {refusal_text(error)}") from None


def refusal_text(error: ValidationError) -> str:
    """Return what pydantic refused, in one line."""
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'the table'}: {fault['msg']}" for fault in error.errors())


def assert_taken(hook: str, contribution: Any) -> None:  # noqa: ANN401 - of any kind
    """See that the host takes a contribution for a hook, and that it has a summary of one line."""
    host = Host.of({"kit": SimpleNamespace(**{hook: hookimpl(lambda: [contribution])})})
    taken = host.collect(getattr(Specs, hook))
    assert taken == (contribution,), f"the host refuses it: {'; '.join(failed.text for failed in host.failures)}"
    assert contribution.summary.strip(), "summary is empty; `ixbench plugins` shows what a plugin gives"
    assert "\n" not in contribution.summary, "summary is more than one line"


def assert_strict(options: type[BaseModel] | None) -> None:
    """See that options take no key that they do not have, and can say which keys they have; None has no options."""
    if options is None:
        return
    from pydantic import ValidationError

    assert is_options(options), f"Options is {_said(options)}; it is a class: `class Mine(OptionsModel): ...`, and then `Options = Mine`"
    try:
        options.model_validate({"ixbench_kit_no_such_key": 1})
    except ValidationError as error:
        kinds = {fault["type"] for fault in error.errors()}
    else:
        kinds = set()
    assert "extra_forbidden" in kinds, f"{options.__qualname__} takes keys that it does not have; make it a subclass of OptionsModel"
    json.dumps(options.model_json_schema())


def is_options(options: object) -> bool:
    """Say whether something is a class of options, and no instance and no other class."""
    from pydantic import BaseModel

    return isinstance(options, type) and issubclass(options, BaseModel)


def _said(options: object) -> str:
    """Return what stands where options should, in words."""
    if isinstance(options, type):
        return f"the class {options.__qualname__}, which is no OptionsModel"
    return f"an instance of {type(options).__qualname__}"


def assert_finding(finding: object) -> None:
    """See that a finding is one, with a level, a code and a sentence."""
    if not isinstance(finding, Finding):
        pytest.fail(f"{finding!r} is no Finding")
    assert finding.level in {"error", "warning", "note"}, f"a finding's level is {finding.level!r}"
    assert re.fullmatch(r"[a-z][a-z0-9_]*", finding.code), f"a finding's code is {finding.code!r}; allowed: lower_case words"
    assert finding.text.strip(), f"finding {finding.code} says nothing"
    assert "\n" not in finding.text, f"finding {finding.code} is more than one line"
