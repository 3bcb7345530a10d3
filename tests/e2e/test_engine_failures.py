"""Engines that do not start, die or stay: the cause stands in point.json and on stderr, other points go on, nothing is left."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from ixbench.store.folder import RunReader

PROMPTS = [f"tell me about number {number}" for number in range(12)]
ENGINE = '[[deployment]]\nengine = "scripted"\n'


@pytest.fixture
def campaign(shell, scripted):
    def write(script=None, *flags, settings="concurrency = [1]", rest=""):
        shell.write_prompts(PROMPTS)
        shell.write_campaign(f"{ENGINE}{settings}\n{scripted(script, *flags)}", rest=rest)

    return write


def test_an_engine_that_exits_at_the_start_costs_all_its_points(shell, campaign):
    campaign(None, "--script", "no-such-file.json", "--say", "HIP out of memory. Tried to allocate 3 GiB", settings="concurrency = [1, 2]")
    # The engine's own complaint about the script stays in its log; the known line is what explains it.
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    for point in ("scripted-c1", "scripted-c2"):
        result = done.point(point)
        failure = result["failure"]
        assert failure["code"] == "gpu-out-of-memory"
        assert failure["evidence"] == ["line 1: HIP out of memory. Tried to allocate 3 GiB"]
        assert (result["verdict"]["status"], result["verdict"]["reasons"][0]["code"]) == ("invalid", "engine_died")
        assert (result["metrics"], result["accounting"]["requests"], result["axis"]["tok_s_user"]) == ({}, 0, None)
        assert f"{point}: FAILED, {failure['cause']}" in done.err
    assert "FAILED" in done.out
    assert "Traceback" not in done.err
    (log,) = done.folder.glob("launches/*/engine.log")
    assert "no-such-file.json" in log.read_text()
    assert shell.processes() == []


def test_an_executable_that_is_not_there(shell, campaign):
    campaign(settings='concurrency = [1]\nexecutable = "./no-such-engine"')
    told = f"ixbench: campaign.toml: deployment scripted: executable: there is no file {shell.folder / 'no-such-engine'}; correct it\n"
    for command in ("check", "run"):
        done = shell.run(command, "campaign.toml")
        assert (done.code, done.err, done.folders) == (2, told, [])


def test_an_engine_that_never_gets_ready_is_given_up(shell, campaign):
    campaign(None, "--ready-after", "600", settings="concurrency = [1]\nready_limit = 8")
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    failure = done.point("scripted-c1")["failure"]
    assert (failure["code"], "503" in failure["cause"]) == ("engine_not_ready", True)
    assert shell.processes() == []


def test_an_engine_that_dies_in_a_point_costs_that_point_alone(shell, campaign):
    # The start takes one completion and the first point 12, so the 15th is in the second point; the next start has only 13.
    campaign({"rules": [{"every": 15, "reply": {"kind": "die", "cut_after": 1}}]}, settings="concurrency = [1, 2, 3]")
    done = shell.run("run", "campaign.toml")
    assert done.code == 1, done.err
    first, second, third = (done.point(f"scripted-c{users}") for users in (1, 2, 3))
    assert first["accounting"]["ok"] == third["accounting"]["ok"] == 12
    assert (first["failure"], third["failure"]) == (None, None)
    assert second["failure"]["code"] == "killed-silent"
    assert second["failure"]["evidence"][0] == "exit code 137"
    assert second["verdict"]["status"] == "invalid"
    assert "engine_died" in {reason["code"] for reason in second["verdict"]["reasons"]}
    kept = done.records("scripted-c2")
    counts = second["accounting"]
    assert counts["requests"] == len(kept) == counts["ok"] + sum(counts["failed"].values()) + counts["cancelled"]
    # The request beside the deadly one may have come through or not.
    assert counts["ok"] in {0, 1}
    (launch,) = (done.folder / "launches").iterdir()
    assert sorted(path.name for path in launch.iterdir()) == ["engine.log", "engine.log.1", "launch.json"]
    assert shell.processes() == []


def test_an_engine_that_dies_before_the_first_request_is_not_started_for_ever(shell, campaign):
    campaign(settings="concurrency = [1, 2]")
    done = shell.run("run", "campaign.toml", "--set", "model.id=doomed")
    assert done.code == 3
    assert {done.point(f"scripted-c{users}")["failure"]["code"] for users in (1, 2)} == {"killed-silent"}
    assert done.err.count("starting") <= 2
    assert shell.processes() == []


def test_retries_measure_the_point_again_with_a_fresh_engine(shell, campaign):
    script = {"rules": [{"contains": "number 7", "reply": {"kind": "die", "cut_after": 1}}]}
    campaign(script, "--once", "flag", rest="[run]\nretries = 1")
    done = shell.run("run", "campaign.toml")
    assert done.code in {0, 1}, done.err
    result = done.point("scripted-c1")
    assert (result["failure"], result["accounting"]["ok"], len(done.records("scripted-c1"))) == (None, 12, 12)
    assert "Trying again with a fresh engine." in done.err
    assert done.err.count("starting") == 2
    assert shell.processes() == []


def test_retries_come_to_an_end(shell, campaign):
    campaign({"rules": [{"contains": "number 7", "reply": {"kind": "die", "cut_after": 1}}]}, rest="[run]\nretries = 2")
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    assert done.point("scripted-c1")["failure"]["code"] == "killed-silent"
    assert done.err.count("starting") == 3


def engines(shell):
    """Return the processes of the engine, the server first."""
    found = [process for process in shell.processes() if "scripted_engine" in process.cmdline()]
    server = found[0] if found[0].parent() not in found else found[1]
    return [server, *server.children(recursive=True)]


def under_way(running, point="scripted-c1"):
    """Return whether a point has begun to measure."""
    return any(path.stat().st_size for path in running.results.glob(f"*/points/{point}/requests.jsonl"))


DEATH_LIMIT_S = 15
SLOW = {"default": {"gap_s": 0.1}}
"""12 prompts of 4 tokens take some 5 seconds."""


def test_an_engine_that_is_stopped_by_a_signal_ends_its_point(shell, campaign):
    campaign(SLOW, settings="concurrency = [1, 2]", rest="[run]\nretries = 0")
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: under_way(running))
    for process in engines(shell):
        process.suspend()
    done = running.end()
    assert done.code == 1, done.err
    failure = done.point("scripted-c1")["failure"]
    assert failure["code"] == "engine_unhealthy"
    assert failure["cause"].startswith("Engine scripted hangs: /health failed 3 times in ")
    assert failure["cause"].endswith("and nothing else arrived meanwhile. Its server is stopped by a signal.")
    assert done.point("scripted-c1")["verdict"]["status"] == "invalid"
    assert done.point("scripted-c2")["accounting"]["ok"] == 12, "the next point gets a fresh engine"
    assert shell.processes() == []


def test_a_hang_is_tried_again_like_a_death(shell, campaign):
    campaign(SLOW, rest="[run]\nretries = 1")
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: under_way(running))
    for process in engines(shell):
        process.suspend()
    done = running.end()
    assert done.point("scripted-c1")["accounting"]["ok"] == 12, done.err
    assert "Trying again with a fresh engine." in done.err


def test_a_hang_before_the_first_request_of_a_point(shell, scripted):
    # The first completion is the start's own; the next is a probe of prompt lengths, with which everything stops.
    flags = scripted({"sequence": ["ok"], "default": "hang_before_head"})
    shell.write("campaign.toml", f'schema = 1\n[workload]\nuse = "fixed"\n{ENGINE}concurrency = [1]\n{flags}')
    running = shell.start("run", "campaign.toml")
    running.wait_for("preparing")
    for process in engines(shell):
        process.suspend()
    done = running.end()
    assert done.code == 3
    result = done.point("scripted-c1")
    assert (result["failure"]["code"], result["verdict"]["reasons"][0]["code"]) == ("engine_unhealthy", "engine_died")


def test_a_worker_that_is_killed_while_its_server_lives_on(shell, campaign):
    campaign(SLOW, "--worker", "needed", settings="concurrency = [1, 2]")
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: under_way(running))
    _, worker = engines(shell)
    worker.kill()
    done = running.end()
    assert done.code == 1, done.err
    failure = done.point("scripted-c1")["failure"]
    assert failure["code"] == "engine_worker_died"
    assert f"process {worker.pid} (" in failure["cause"]
    assert "ended while its server lived on" in failure["cause"]
    assert done.point("scripted-c2")["accounting"]["ok"] == 12
    assert shell.processes() == []


def test_an_engine_that_computes_for_ever_ends_its_point(shell, scripted):
    """Its health path answers all the time, its counters stand still, and how much it computes says nothing."""
    shell.write_prompts(PROMPTS)
    settings = f'[[deployment]]\nengine = "stepping"\nconcurrency = [1]\n{scripted(SLOW, "--worker", "spins")}'
    shell.write_campaign(settings)
    done = shell.run("run", "campaign.toml")
    failure = done.point("stepping-c1")["failure"]
    assert failure["code"] == "engine_stalled", done.err
    silent_s = int(re.search(r"no byte of any answer for (\d+) s, and its counters stand still although requests run", failure["cause"])[1])
    assert silent_s <= DEATH_LIMIT_S, failure
    assert failure["fix"].endswith("If it may need more than 12 s there, raise [run] stall_limit.")
    assert "engine_died" in {reason["code"] for reason in done.point("stepping-c1")["verdict"]["reasons"]}
    assert shell.processes() == []


def test_a_worker_that_is_stopped_by_a_signal_while_its_server_answers(shell, campaign):
    campaign({"rules": [{"contains": "number 7", "reply": "hang_mid_stream"}]}, "--worker", "idle")
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: under_way(running))
    _, worker = engines(shell)
    worker.suspend()
    done = running.end()
    failure = done.point("scripted-c1")["failure"]
    assert failure["code"] == "engine_worker_stopped", done.err
    assert f"process {worker.pid} (" in failure["cause"]
    assert shell.processes() == []


def test_an_engine_that_can_do_without_a_process_is_measured_on(shell, campaign):
    campaign({"default": {"gap_s": 0.4}}, "--worker", "idle")
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: under_way(running))
    _, worker = engines(shell)
    worker.kill()
    done = running.end()
    result = done.point("scripted-c1")
    assert (result["failure"], result["accounting"]["ok"]) == (None, 12), done.err
    assert any(f"process {worker.pid} (" in note and "went on answering" in note for note in result["provenance"]["notes"])


def test_a_fatal_line_of_an_engine_that_stands_still(shell, campaign):
    script = {"rules": [{"contains": "number 7", "reply": "hang_mid_stream"}]}
    campaign(script, "--say-later", "HIP out of memory. Tried to allocate 3 GiB")
    done = shell.run("run", "campaign.toml")
    failure = done.point("scripted-c1")["failure"]
    assert failure["code"] == "gpu-out-of-memory"
    assert failure["evidence"][0].endswith("HIP out of memory. Tried to allocate 3 GiB")


def test_llamacpp_that_hangs_ends_its_point(shell):
    pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
    pytest.importorskip("gguf", reason="the extra llamacpp is not installed")
    workload = 'schema = 1\n[workload]\nuse = "fixed"\ninput_tokens = 100\noutput_tokens = 50\nrequests = 500\nwarmup = 0\n'
    tiny = "tiny_width = 256\ntiny_layers = 1\nslots = 4\ncontext = 512\nthreads = 1\n"
    shell.write("campaign.toml", f'{workload}[[deployment]]\nengine = "llamacpp"\nconcurrency = 2\n{tiny}')
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: under_way(running, "llamacpp-c2"))
    (process,) = [one for one in shell.processes() if "ixbench_plugins.engines.llamacpp.serve" in one.cmdline()]
    process.suspend()
    done = running.end()
    assert done.point("llamacpp-c2")["failure"]["code"] == "engine_unhealthy", done.err
    assert shell.processes() == []


@pytest.fixture(scope="module")
def spins(tmp_path_factory):
    """Return the library that lets a thread of a process compute for ever."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler, so no thread can be made to spin")
    built = tmp_path_factory.mktemp("spin") / "spin.so"
    subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", built, Path(__file__).with_name("spin.c")], check=True)
    return built


def let_spin(process):
    """Let the thread compute for ever that computes most: the loop that computes batches and writes the page."""
    before = {thread.id: thread.user_time for thread in process.threads()}
    time.sleep(0.5)
    busiest = max(process.threads(), key=lambda thread: thread.user_time - before.get(thread.id, 0.0))
    assert ctypes.CDLL(None, use_errno=True).tgkill(process.pid, busiest.id, signal.SIGUSR2) == 0


def test_llamacpp_that_computes_for_ever_ends_its_point(shell, spins):
    """The real engine: its health path answers, its page does not, and no step ends any more."""
    pytest.importorskip("xllamacpp", reason="the extra llamacpp is not installed")
    pytest.importorskip("gguf", reason="the extra llamacpp is not installed")
    workload = 'schema = 1\n[workload]\nuse = "fixed"\ninput_tokens = 100\noutput_tokens = 50\nrequests = 200\nwarmup = 0\n'
    tiny = "tiny_width = 256\ntiny_layers = 1\nslots = 4\ncontext = 512\nthreads = 1\n"
    preload = f'[deployment.env]\nLD_PRELOAD = "{spins}"\n'
    shell.write("campaign.toml", f'{workload}[[deployment]]\nengine = "llamacpp"\nconcurrency = [2, 1]\n{tiny}{preload}')
    running = shell.start("run", "campaign.toml")
    running.wait_for(lambda: under_way(running, "llamacpp-c2"))
    (process,) = [one for one in shell.processes() if "ixbench_plugins.engines.llamacpp.serve" in one.cmdline()]
    let_spin(process)
    done = running.end()
    failure = done.point("llamacpp-c2")["failure"]
    assert failure["code"] == "engine_stalled", done.err
    assert "a completion of one token is not answered" in failure["cause"]
    limit_s = int(re.search(r"If it may need more than (\d+) s there", failure["fix"])[1])
    assert limit_s <= DEATH_LIMIT_S, failure
    assert done.point("llamacpp-c1")["accounting"]["ok"] == 200, "the next point gets a fresh engine"
    assert shell.processes() == []


def prepared(shell, text, digest=None):
    (shell.folder / "patches").mkdir()
    script = shell.write("patches/fix.sh", text)
    digest = digest or hashlib.sha256(script.read_bytes()).hexdigest()
    return f'concurrency = [1]\nprepare = [{{ script = "patches/fix.sh", sha256 = "{digest}", reason = "the kernel is wrong" }}]'


def test_a_prepare_step_runs_before_the_server_and_marks_its_results(shell, campaign):
    campaign(settings=prepared(shell, "echo patched > patched.txt"))
    done = shell.run("run", "campaign.toml")
    result = done.point("scripted-c1")
    assert (result["failure"], result["accounting"]["ok"]) == (None, 12), done.err
    assert (shell.folder / "patched.txt").read_text() == "patched\n"
    assert len(result["identity"]["prepared"]) == 12
    assert any("fix.sh (sha256 " in note and note.endswith("the kernel is wrong") for note in result["provenance"]["notes"])


def test_a_prepare_step_that_fails_starts_no_server(shell, campaign):
    campaign(settings=prepared(shell, "exit 4"))
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    assert done.point("scripted-c1")["failure"]["code"] == "prepare_failed"
    assert "fix.sh" in done.err
    assert shell.processes() == []


@pytest.mark.parametrize(
    ("there", "told"), [(True, "is not the one that the campaign file means"), (False, "cannot be read: No such file")]
)
def test_a_prepare_script_that_was_not_meant_is_refused_before_anything_starts(shell, campaign, there, told):
    campaign(settings=prepared(shell, "true", "0" * 64))
    script = shell.folder / "patches" / "fix.sh"
    if not there:
        script.unlink()
    for command in ("check", "run"):
        done = shell.run(command, "campaign.toml")
        assert (done.code, done.folders) == (2, [])
        assert done.err.startswith(f"ixbench: campaign.toml: deployment scripted: prepare: The prepare script {script} {told}")
        assert done.err.count("\n") == 1


def test_keep_engine_leaves_the_last_one_and_attach_measures_it(shell, campaign):
    campaign(rest="[run]\nkeep_engine = true")
    done = shell.run("run", "campaign.toml")
    (process,) = shell.processes()
    assert f"as m; end it with: kill {process.pid}" in done.err
    (path,) = done.folder.glob("launches/*/launch.json")
    record = json.loads(path.read_text())
    assert record["stop"] is None
    assert record["notes"][-1] == "left running, as [run] keep_engine asks"

    attached = shell.run("run", "campaign.toml", "--attach", record["url"], "--results", "attached")
    (folder,) = (shell.folder / "attached").iterdir()
    result = json.loads((folder / "points" / "scripted-c1" / "point.json").read_text())
    assert attached.code == done.code
    assert (result["identity"]["engine"], result["accounting"]["ok"], result["failure"]) == ("scripted", 12, None)
    assert "[1/1] scripted-c1: connecting" in attached.err
    (launch,) = folder.glob("launches/*/launch.json")
    assert (json.loads(launch.read_text())["processes"], json.loads(launch.read_text())["url"]) == ([], record["url"])
    assert psutil.pid_exists(process.pid), "a server that was attached to is not ours to end"
    os.kill(process.pid, signal.SIGTERM)
    process.wait(20)


def test_a_server_that_is_gone_after_the_first_point_costs_the_rest(shell, campaign):
    """A run goes on with engines that it did not start, and says of each point what became of it."""
    campaign(None, settings="concurrency = [1]")
    done = shell.run("run", "campaign.toml", "--attach", "http://127.0.0.1:9")
    assert done.code == 3
    failure = done.point("scripted-c1")["failure"]
    assert failure["code"] == "endpoint_unreachable"
    assert "http://127.0.0.1:9 does not answer" in done.err


BROKEN = """
from ixbench.api.hooks import hookimpl
from ixbench.api.workload import Load, OptionsModel, Phase, Schedule, Session, TextPrompt, Turn, Workload

class Options(OptionsModel):
    at: str = "sessions"

class Broken(Workload[Options]):
    name = "broken"
    Options = Options

    def schedule(self, options, load, *, key):
        if options.at == "schedule":
            raise LookupError("the corpus has no such page")

        def sessions():
            yield Session(id="a", turns=(Turn(prompt=TextPrompt(text="x"), output_tokens=2),))
            raise LookupError("the corpus has no such page")

        return Schedule(phases=(Phase(name="profile", sessions=sessions, lanes=load.concurrency),))

@hookimpl
def ixbench_workloads():
    return [Broken()]
"""


@pytest.fixture
def broken(make_shell, tmp_path, install):
    site = tmp_path / "site"
    site.mkdir()
    (site / "broken_workload.py").write_text(BROKEN)
    install(site, "broken-workload", "3.0", {"broken": "broken_workload"})
    with make_shell(tmp_path, site) as shell:
        yield shell


def test_a_workload_that_breaks_under_way_costs_its_point(broken):
    broken.write("campaign.toml", f'schema = 1\n[workload]\nuse = "broken"\n{ENGINE}concurrency = [1, 2]\n')
    done = broken.run("run", "campaign.toml")
    assert done.code == 3
    for point in ("scripted-c1", "scripted-c2"):
        failure = done.point(point)["failure"]
        assert failure["cause"] == "the replay broke with LookupError: the corpus has no such page"
        assert any(line.startswith("broken_workload.py:") for line in failure["evidence"])
    assert broken.processes() == []


def test_a_workload_that_breaks_before_is_named_with_its_author(broken):
    broken.write("campaign.toml", f'schema = 1\n[workload]\nuse = "broken"\nat = "schedule"\n{ENGINE}concurrency = [1, 2]\n')
    done = broken.run("run", "campaign.toml")
    assert (done.code, done.folders) == (1, [])
    assert done.err == (
        "ixbench: plugin broken (broken-workload 3.0): workload broken: schedule: LookupError: the corpus has no such page\n"
    )


def test_messages_on_the_completions_api_are_told_in_the_point(shell, server):
    shell.write("prompts.jsonl", json.dumps({"messages": [{"role": "user", "content": "hello"}]}) + "\n")
    shell.write_campaign(f'[[deployment]]\nengine = "endpoint"\nurl = "{server.url}"\napi = "completions"\nconcurrency = 1\n')
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    failure = done.point("endpoint-c1")["failure"]
    assert failure["cause"] == "messages need the chat API; this deployment uses /v1/completions, which takes text"
    assert failure["cause"] in done.err
    assert RunReader(done.folder).sealed() == ("endpoint-c1",)


def test_a_server_that_is_another_one_at_the_end_makes_its_point_invalid(shell, scripted):
    shell.write_prompts(PROMPTS)
    shell.write_campaign(f'[[deployment]]\nengine = "scripted"\nconcurrency = 1\n{scripted(None, "--model", "changing")}\n')
    done = shell.run("run", "campaign.toml", "--set", "model.id=changing")
    reasons = {reason["code"]: reason["text"] for reason in done.point("scripted-c1")["verdict"]["reasons"]}
    assert "version 1.2, and was 1.1 before" in reasons["wrong_server"]
    facts = done.point("scripted-c1")["provenance"]["measurement"]
    assert len(facts["server_changes"]) == 1
    assert abs(facts["clock_drift_s"]) < 1
