"""How the failures of a suite are told: a mistake of the plugin's author once, as a sentence; what only follows from it is skipped.

pytest asks `ixbench.testing.plugin`, which asks here for the tests of suites alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ixbench.model.errors import describe

KIT = Path(__file__).parent
FIRST = ("test_the_host_takes_it", "test_unknown_options_are_refused")
"""While one of these fails, others would only tell the same in other words."""
SAME, AGAIN = "the same mistake makes", "the same test fails as"
"""How the reason of a test begins that is skipped for a failure that was told before."""
_REWRITTEN = "\nassert "
"""What pytest adds to the sentence of an assertion begins so."""


class MistakeError(AssertionError):
    """What a suite complains of, with a name for the mistake, where the sentence holds more than that."""

    def __init__(self, sentence: str, mistake: str) -> None:
        super().__init__(sentence)
        self.mistake = mistake


_FAILED = pytest.StashKey[dict[type, dict[str, str]]]()
"""Of each suite the tests that failed so far and the mistakes that were told, each with the test's whole name."""


def skip_what_follows(item: pytest.Item) -> None:
    """Skip a test whose suite has failed in what all others stand on."""
    failed = _failed(item)
    for name in FIRST:
        if name in failed:
            pytest.skip(f"{name} fails, which comes first")


def tell(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Make the report of a failure a sentence, or a skip where its mistake, or its test for another parameter, was told before."""
    if report.when != "call" or not report.failed or call.excinfo is None:
        return
    error, failed = call.excinfo.value, _failed(item)
    test = getattr(item, "originalname", item.name)
    ours = isinstance(error, AssertionError | pytest.fail.Exception)
    sentence = _sentence(item, str(error)) if ours else describe(error)
    mistake = getattr(error, "mistake", sentence)
    why = ""
    if mistake in failed:
        why = f"{SAME} {failed[mistake]} fail"
    elif test in failed:
        why = f"{AGAIN} {failed[test]}, here with: {sentence}"
        failed[mistake] = item.name
    if why:
        path, line, _ = item.location
        report.outcome, report.longrepr = "skipped", (path, line or 0, why.partition("\n")[0])
        return
    failed |= dict.fromkeys((test, mistake), item.name)
    steps = call.excinfo.traceback
    ends = [number for number, step in enumerate(steps, start=1) if Path(step.path).parent == KIT]
    theirs = steps[ends[-1] :] if ends else steps
    if theirs and not ours:
        call.excinfo.traceback = theirs
        report.longrepr = call.excinfo.getrepr(style="short")
    else:
        alone = pytest.fail.Exception(sentence, pytrace=False).with_traceback(error.__traceback__)
        report.longrepr = pytest.ExceptionInfo.from_exception(alone).getrepr(style="value")


def _sentence(item: pytest.Item, text: str) -> str:
    """Return what an assertion says without the code of the kit; of one that says nothing, what its test is about, and the code."""
    if text.startswith(_REWRITTEN.lstrip()):
        about = (getattr(getattr(item, "function", None), "__doc__", None) or item.name).strip().splitlines()[0]
        return f"{about}\n{text}"
    return text.partition(_REWRITTEN)[0]


def _failed(item: pytest.Item) -> dict[str, str]:
    known: dict[type, dict[str, str]] = item.session.stash.setdefault(_FAILED, {})
    return known.setdefault(getattr(item, "cls", None) or type(item), {})
