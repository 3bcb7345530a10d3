"""The fixtures that pytest finds by itself where ixbench is installed."""

from __future__ import annotations

import json
import os
import urllib.request
from types import SimpleNamespace

import psutil
import pytest

from ixbench.api.hooks import hookimpl
from ixbench.report.load import load_run
from ixbench.testing.kit.installed import gives
from ixbench.testing.kit.sealed import elsewhere, pure, sealed


def test_the_server_is_a_process_that_answers(ixbench_server):
    assert ixbench_server.pid != os.getpid()
    assert psutil.pid_exists(ixbench_server.pid)
    assert json.loads(ixbench_server.get("/v1/models"))["data"][0]["id"] == "scripted"


def test_servers_of_ones_own_are_ended_with_the_test(gone_afterwards, ixbench_start_server):
    server = ixbench_start_server("--kind", "bad_request", "--model", "mine")
    assert json.loads(server.get("/v1/models"))["data"][0]["id"] == "mine"
    request = urllib.request.Request(f"{server.url}/v1/completions", data=b'{"prompt": "x"}', method="POST")
    with pytest.raises(urllib.request.HTTPError, match="400"):
        urllib.request.urlopen(request, timeout=10)
    gone_afterwards.append(server.pid)


@pytest.fixture
def gone_afterwards():
    """Ask, after the server's own fixture has ended, whether it is gone."""
    pids = []
    yield pids
    assert pids
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_host_has_the_plugins_given_and_no_others(ixbench_host):
    @hookimpl
    def ixbench_reporters():
        return ()

    host = ixbench_host(mine=SimpleNamespace(ixbench_reporters=ixbench_reporters))
    (info,) = host.plugins()
    assert (info.source.plugin, info.hooks, host.failures) == ("mine", ("ixbench_reporters",), ())


def test_an_installed_plugin_tells_what_it_gives(ixbench_plugin):
    assert ixbench_plugin("vllm")["engines"] == ("vllm",)


@pytest.mark.parametrize(
    ("plugin", "sentence"),
    [
        ({}, "no plugin 'mine' is installed: pyproject.toml needs the line `mine = \"MODULE\"` under [project.entry-points.ixbench]"),
        ({"ixbench_reporter": lambda: None}, "plugin mine (inline): ixbench_reporter: ixbench has no such hook; did you mean"),
        ({"ixbench_reporters": lambda: None}, "plugin mine (inline): ixbench_reporters: returned None; return a list of reporters"),
        ({"ixbench_api": 99}, "plugin mine (inline): written for plugin interface 99"),
    ],
)
def test_a_plugin_that_ixbench_cannot_use_fails_its_tests(ixbench_host, plugin, sentence):
    marked = {name: hookimpl(found) if callable(found) else found for name, found in plugin.items()}
    host = ixbench_host(**({"mine": SimpleNamespace(**marked)} if marked else {}))
    with pytest.raises(pytest.fail.Exception) as failed:
        gives("mine", host)
    assert str(failed.value).startswith(sentence)


@pytest.mark.parametrize("evidence", ["measured", "simulated"])
def test_the_run_folders_are_whole(request, evidence):
    run = load_run(request.getfixturevalue(f"ixbench_{evidence}_run"))
    assert {point.evidence for point in run.points} == {evidence} == {run.evidence}
    assert [point.id for point in run.points] == ["vllm-c1", "vllm-c8", "vllm-c16", "vllm-c64"]
    assert len(run.read_records("vllm-c8")) > 40


def test_purity_is_told_from_its_opposite(tmp_path, monkeypatch):
    assert pure("it", lambda: 7) == 7
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(AssertionError, match=rf"^it is not pure: it read {path}"):
        pure("it", path.read_text)
    assert pure("it", path.read_text, files=False) == "x"
    with pytest.raises(AssertionError, match=rf"it wrote {path}"):
        pure("it", lambda: path.write_text("y"), files=False)
    with pytest.raises(AssertionError, match="it used the network"):
        pure("it", lambda: urllib.request.urlopen("http://127.0.0.1:9/", timeout=1))
    monkeypatch.setenv("KIT_VARIABLE", "1")
    with pytest.raises(AssertionError, match="of two calls with equal arguments the second"):
        pure("it", lambda: os.environ.get("KIT_VARIABLE"))
    with pytest.raises(AssertionError, match="it changed the machine"), sealed("it"):
        os.environ["KIT_VARIABLE"] = "2"


def test_elsewhere_is_left_as_it_was_found():
    before, folder = dict(os.environ), os.getcwd()  # noqa: PTH109 - compared with itself
    with elsewhere():
        assert os.getcwd() != folder  # noqa: PTH109 - as above
        assert dict(os.environ) != before
    assert (dict(os.environ), os.getcwd()) == (before, folder)  # noqa: PTH109 - as above


def test_modules_may_be_imported_by_pure_code(tmp_path, monkeypatch):
    (tmp_path / "kit_pure_module.py").write_text("import os\nVALUE = len(os.listdir('/'))\n")
    monkeypatch.syspath_prepend(tmp_path)

    def call():
        import kit_pure_module

        return kit_pure_module.VALUE

    assert pure("it", call) > 0
