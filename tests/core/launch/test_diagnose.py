from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.launch.diagnose import describe_exit, diagnose, explain
from ixbench.launch.log import clean_lines, log_lines
from ixbench.model.signature import Signature

FATAL = {"engine": "any", "kind": "fatal", "wrapper": False, "cause": "It broke.", "fix": "Mend it.", "source": "test"}


def numbered(*lines):
    return list(enumerate(lines, 1))


def signature(name, pattern, **more):
    return Signature(**(FATAL | {"id": name, "pattern": pattern} | more))


@pytest.fixture(scope="module")
def shipped(shared):
    table = tomllib.loads((shared / "reference" / "failure_signatures.toml").read_text())
    return tuple(Signature(**entry) for entry in table["signature"])


def test_every_recorded_log_has_its_known_root_cause(shared, shipped):
    logs = shared / "data" / "engine_logs"
    for entry in tomllib.loads((logs / "expected.toml").read_text())["log"]:
        lines = log_lines(logs / entry["file"])
        found = diagnose(lines, shipped, engine=entry["engine"], exit_code=entry["exit_code"])
        assert (found.root.signature.id if found.root else "") == entry["expected"], entry["file"]
        assert sorted(match.signature.id for match in found.findings) == sorted(entry["also"]), entry["file"]
        if entry["evidence"]:
            assert entry["evidence"] in found.root.text, entry["file"]


def test_the_root_goes_by_kind_then_by_line_then_by_place_in_the_file():
    signatures = [
        signature("later", "second"),
        signature("wrapper", "first", wrapper=True),
        signature("twin", "second"),
        signature("note", "zeroth", kind="warning"),
        signature("untuned", "zeroth", kind="invalidates"),
        signature("theirs", "zeroth", engine="other"),
    ]
    lines = numbered("zeroth", "first", "second", "second")

    def root(*dropped):
        kept = [one for one in signatures if one.id not in dropped]
        return diagnose(lines, kept, engine="ours").root.signature.id

    assert root() == "later"
    assert root("later") == "twin"
    assert root("later", "twin") == "wrapper"
    assert root("later", "twin", "wrapper") == "untuned"
    assert root("later", "twin", "wrapper", "untuned") == "note"
    found = diagnose(lines, signatures, engine="ours")
    assert [(match.signature.id, match.line) for match in found.findings] == [("note", 1), ("untuned", 1), ("wrapper", 2), ("twin", 3)]


def test_a_silent_kill_is_the_root_only_without_a_fatal_line():
    signatures = [
        signature("killed-silent", "(?!)", trigger="exit"),
        signature("oom", "out of memory"),
        signature("w", "slow", kind="warning"),
    ]
    assert diagnose(numbered("slow"), signatures, engine="x", exit_code=-9).root.signature.id == "killed-silent"
    assert diagnose([], signatures, engine="x", exit_code=137).root.signature.id == "killed-silent"
    assert diagnose(numbered("out of memory"), signatures, engine="x", exit_code=-9).root.signature.id == "oom"
    assert diagnose(numbered("slow"), signatures, engine="x", exit_code=1).root.signature.id == "w"
    assert diagnose([], signatures, engine="x", exit_code=1).root is None


@given(st.binary(max_size=300))
def test_no_bytes_upset_the_diagnosis(content):
    diagnose(enumerate(clean_lines(content), 1), [signature("oom", "out of memory")], engine="x", exit_code=-9)


def test_a_failure_quotes_the_line_or_the_last_lines(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("loading\nCUDA out of memory\n\nbye\n")
    known = explain(log, [signature("oom", "out of memory")], engine="x", code="engine_exited", cause="It ended.", exit_code=1)
    assert (known.code, known.cause, known.fix, known.evidence) == ("oom", "It broke.", "Mend it.", ("line 2: CUDA out of memory",))
    unknown = explain(log, [], engine="x", code="engine_exited", cause="It ended.", exit_code=1)
    assert (unknown.code, unknown.cause, unknown.evidence) == ("engine_exited", "It ended.", ("loading", "CUDA out of memory", "bye"))
    assert str(log) in unknown.fix


def test_a_warning_explains_waiting_but_not_dying(tmp_path):
    log = tmp_path / "engine.log"
    log.write_text("waiting for baton release\n")
    lock = [signature("lock", "baton", kind="warning")]
    assert explain(log, lock, engine="x", code="engine_not_ready", cause="Too slow.").code == "lock"
    assert explain(log, lock, engine="x", code="engine_exited", cause="Ended.", exit_code=1).code == "engine_exited"


def test_without_an_engine_the_signatures_of_all_apply():
    signatures = [signature("theirs", "zeroth", engine="other")]
    assert diagnose(numbered("zeroth"), signatures, engine="ours").root is None
    assert diagnose(numbered("zeroth"), signatures, engine=None).root.signature.id == "theirs"


def test_exit_codes_read_as_words():
    assert describe_exit(3) == "exit code 3"
    assert describe_exit(-9) == "killed by SIGKILL"
    assert describe_exit(-200) == "killed by signal 200"
    assert describe_exit(None) == "exit code unknown"
