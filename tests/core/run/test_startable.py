"""Commands and scripts that are looked for before anything starts."""

from __future__ import annotations

import hashlib

import pytest

from ixbench.campaign.document import Document
from ixbench.campaign.read import campaign_from_document
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.plan.expand import make_plan
from ixbench.run.preflight import check_files
from ixbench.run.startable import check_commands, check_keys, check_scripts_of


def planned(house, **settings):
    table = {"schema": 1, "model": {"id": "m"}, "workload": {"use": "steady"}}
    table["deployment"] = [{"engine": "acme", "concurrency": [1, 2]} | settings]
    return make_plan(campaign_from_document(Document(where="t.toml", table=table), house), house)


def told(check, *arguments):
    try:
        check(*arguments, where="t.toml")
    except InputError as error:
        return list(map(str, error.faults))
    return []


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Return a command `acme` on PATH."""
    path = tmp_path / "bin" / "acme"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))
    return path


def test_an_api_key_is_looked_for_in_its_variable(house, monkeypatch):
    plan = planned(house, name="ours", url="http://127.0.0.1:1", api_key_env="THE_KEY")
    monkeypatch.setenv("THE_KEY", "abc")
    assert told(check_keys, plan, plan.points) == []
    for value, problem in (("", "is not set; Set THE_KEY, or leave out"), ("a\r", "holds characters that no header may have")):
        monkeypatch.setenv("THE_KEY", value)
        (fault,) = told(check_keys, plan, plan.points)
        assert fault.startswith("t.toml: deployment ours: api_key_env: The variable THE_KEY")
        assert problem in fault
    monkeypatch.delenv("THE_KEY")
    assert told(check_keys, plan, ()) == []


def test_a_command_is_looked_for_on_path(house, tool):
    plan = planned(house)
    assert told(check_commands, plan, plan.points, house) == []
    tool.unlink()
    (fault,) = told(check_commands, plan, plan.points, house)
    assert fault == (
        "t.toml: deployment acme: engine 'acme' would start 'acme': there is no command 'acme' on PATH; "
        "install the engine, give its command or path with executable, or use a container"
    )
    assert told(check_commands, plan, [], house) == []


def test_the_engines_own_path_counts(house, tool, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    plan = planned(house, env={"PATH": str(tool.parent)})
    assert told(check_commands, plan, plan.points, house) == []


def test_what_is_wrong_with_an_executable_is_said_once(house, tool):
    def problem(executable):
        plan = planned(house, executable=executable)
        return told(check_commands, plan, plan.points, house)

    assert problem(str(tool)) == []
    assert problem("{python}") == []
    assert problem("no-such-tool") == ["t.toml: deployment acme: executable: there is no command 'no-such-tool' on PATH; correct it"]
    assert problem("/nonexistent/llama") == ["t.toml: deployment acme: executable: there is no file /nonexistent/llama; correct it"]
    assert problem(str(tool.parent)) == [f"t.toml: deployment acme: executable: {tool.parent} is a folder; correct it"]
    tool.chmod(0o644)
    assert problem(str(tool)) == [f"t.toml: deployment acme: executable: {tool} is not executable for this user; correct it"]


def test_a_server_that_is_up_and_one_that_a_step_may_install_are_not_looked_for(house, tmp_path):
    running = planned(house, executable="/nonexistent/acme", url="http://127.0.0.1:1")
    assert told(check_commands, running, running.points, house) == []
    script = tmp_path / "install.sh"
    step = {"script": str(script), "sha256": hashlib.sha256(b"true").hexdigest(), "reason": "it is not there"}
    prepared = planned(house, executable="/nonexistent/acme", prepare=[step])
    assert told(check_commands, prepared, prepared.points, house) == []


def test_a_script_must_be_there_and_the_one_that_was_meant(house, tmp_path):
    script = tmp_path / "fix.sh"
    step = {"script": str(script), "sha256": hashlib.sha256(b"true").hexdigest(), "reason": "the kernel is wrong"}
    plan = planned(house, prepare=[step])

    def problem():
        return told(check_scripts_of, plan, plan.points)

    (fault,) = problem()
    assert fault.startswith(
        f"t.toml: deployment acme: prepare: The prepare script {script} cannot be read: No such file or directory; Put it"
    )
    script.write_text("true")
    assert problem() == []
    script.write_text("false")
    (fault,) = problem()
    assert "is not the one that the campaign file means: its sha256 is " in fault
    assert told(check_scripts_of, plan, []) == []


@pytest.mark.parametrize(("sku", "refused"), [("cpu", True), ("mi355x", False)])
def test_check_looks_for_commands_where_the_hardware_is(monkeypatch, sku, refused):
    monkeypatch.setenv("PATH", "/nonexistent")
    host = load_host()
    table = {
        "schema": 1,
        "model": {"id": "m"},
        "workload": {"use": "fixed", "requests": 1},
        "hardware": {"sku": sku, "gpus": 1},
        "deployment": [{"engine": "vllm", "concurrency": [1]}],
    }
    campaign = campaign_from_document(Document(where="t.toml", table=table), host)
    plan = make_plan(campaign, host)
    if refused:
        with pytest.raises(InputError, match="there is no command 'vllm' on PATH"):
            check_files(campaign, plan, host)
    else:
        check_files(campaign, plan, host)
