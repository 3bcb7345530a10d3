"""No secret reaches a file, stdout or stderr, whoever repeats it: keys, headers, userinfo, variables, flags, also in the server's words."""

from __future__ import annotations

import json
import signal
from base64 import b64encode

import pytest

from ixbench.testing.running import server_process

KEY, HEADER, PASSWORD, VARIABLE, ENGINE, FLAG = (f"{name}-Zq81-{name[::-1]}" for name in ("key", "head", "pass", "vari", "engi", "flag"))
SECRETS = (KEY, HEADER, PASSWORD, VARIABLE, ENGINE, FLAG)
ENCODED = b64encode(f"someone:{PASSWORD}".encode()).decode()
ALL = " ".join((*SECRETS, ENCODED))


def nothing_told(shell, *done):
    """Look through all bytes of all files of the results and through what was printed."""
    files = {str(path.relative_to(shell.folder)): path.read_bytes() for path in shell.folder.glob("results*/**/*") if path.is_file()}
    assert len(files) > 5
    for number, one in enumerate(done):
        files |= {f"stdout {number}": one.out.encode(), f"stderr {number}": one.err.encode()}
    told = [(name, secret) for name, content in files.items() for secret in (*SECRETS, ENCODED) if secret.encode() in content]
    assert told == []


@pytest.fixture
def prompts(shell):
    shell.write_prompts([f"tell me about number {number}" for number in range(6)])


def test_a_server_that_repeats_every_secret(shell, prompts):
    echo = {"kind": "bad_request", "message": f"I do not like {ALL}"}
    cut = {"kind": "error_event", "message": f"broken by {ALL}", "error_event_after": 1}
    shell.write("script.json", json.dumps({"rules": [{"contains": "number 2", "reply": echo}, {"contains": "number 3", "reply": cut}]}))
    with server_process("--script", str(shell.folder / "script.json")) as server:
        with_password = server.url.replace("http://", f"http://someone:{PASSWORD}@")
        shell.write_campaign(
            f'[[deployment]]\nname = "key"\nengine = "endpoint"\nurl = "{server.url}"\nconcurrency = 1\napi_key_env = "MY_ENTRY"\n'
            f'headers = {{ X-Team = "{HEADER}" }}\n'
            f'[[deployment]]\nname = "userinfo"\nengine = "endpoint"\nurl = "{with_password}"\nconcurrency = 1\n'
        )
        variables = {"MY_ENTRY": KEY, "DEPLOY_TOKEN": VARIABLE, "ALSO_SECRET": f"{ENGINE}", "OTHER_PASSWORD": FLAG}
        done = shell.run("run", "campaign.toml", **variables)
        plan = shell.run("plan", "campaign.toml", "--json", **variables)
        sent = server.log()
    assert done.code == 1, done.err
    assert {request["headers"].get("authorization") for request in sent} == {f"Bearer {KEY}", f"Basic {ENCODED}"}
    assert {request["headers"].get("x-team") for request in sent} == {HEADER, None}
    texts = {record.error_text for record in done.records("key-c1") if record.error_text}
    assert len(texts) == 2
    assert all("***" in text for text in texts), "the words were kept, the secrets were not"
    nothing_told(shell, done, plan)


def test_an_engine_that_prints_and_repeats_its_secrets(shell, scripted, prompts):
    flags = scripted(
        {"default": {"kind": "bad_request", "message": f"I do not like {ALL}"}, "sequence": ["ok"]}, "--say", f"my words: {ENGINE}"
    )
    shell.write_campaign(
        f'[[deployment]]\nengine = "scripted"\nconcurrency = [1]\n{flags}\n[deployment.env]\nHF_TOKEN = "{ENGINE}"\nMODE = "fast"\n'
    )
    secrets = {"MY_KEY": KEY, "A_SECRET": HEADER, "A_PASSWORD": PASSWORD, "DEPLOY_TOKEN": VARIABLE, "OTHER_TOKEN": FLAG, "B_AUTH": ENCODED}
    done = shell.run("run", "campaign.toml", **secrets)
    assert done.code == 1, done.err
    (log,) = done.folder.glob("launches/*/engine.log")
    assert "my words: ***" in log.read_text()
    launch = json.loads((log.parent / "launch.json").read_text())
    env = launch["processes"][0]["env"]
    assert (env["HF_TOKEN"]["value"], env["MODE"]["value"]) == ("***", "fast")
    nothing_told(shell, done)


def test_an_engine_that_dies_with_a_secret_on_its_lips(shell, prompts):
    flags = json.dumps(["--script", "none.json", "--say", f"HIP out of memory. It was loading {ENGINE} with {FLAG} and {KEY}"])
    shell.write_campaign(
        f'[[deployment]]\nengine = "scripted"\nconcurrency = [1]\nflags = {flags}\n[deployment.env]\nHF_TOKEN = "{ENGINE}"\n'
    )
    done = shell.run("run", "campaign.toml", A_TOKEN=FLAG, MY_KEY=KEY)
    assert done.code == 3
    evidence = done.point("scripted-c1")["failure"]["evidence"]
    assert evidence == ["line 1: HIP out of memory. It was loading *** with *** and ***"]
    nothing_told(shell, done)


def test_the_command_that_goes_on_shows_no_secret(shell, prompts):
    shell.write_campaign('[[deployment]]\nengine = "scripted"\nconcurrency = [1]\nflags = ["--ready-after", "600"]\n')
    words = ("run", "campaign.toml", "--set", f"deployment.scripted.env.HF_TOKEN={ENGINE}", "--results", "results-of-mine")
    running = shell.start(*words)
    running.wait_for("starting")
    running.send(signal.SIGINT)
    done = running.end()
    assert done.code == 130
    assert done.err.splitlines()[-1].endswith(
        "go on with: ixbench run campaign.toml --resume --results results-of-mine --set 'deployment.scripted.env.HF_TOKEN=***'"
    )
    nothing_told(shell, done)


@pytest.mark.timeout(600)  # dozens of commands, one after the other
def test_no_report_and_no_command_tells_what_a_campaign_was_given(shell, scripted, prompts):
    shell.env = {**shell.env, "XDG_STATE_HOME": str(shell.folder / "state"), "XDG_CACHE_HOME": str(shell.folder / "cache")}
    variables = {"MY_ENTRY": KEY, "DEPLOY_TOKEN": VARIABLE, "OTHER_PASSWORD": PASSWORD, "A_SECRET": HEADER, "B_AUTH": ENCODED}
    echo = {"kind": "bad_request", "message": f"I do not like {ALL} nor http://someone:{PASSWORD}@host/?api_key={FLAG}"}
    flags = scripted({"rules": [{"contains": "number 2", "reply": echo}]}, "--say", f"I am {ENGINE}, sent {FLAG}, Bearer {KEY}")
    shell.write_campaign(
        f'[[deployment]]\nengine = "scripted"\nconcurrency = [1]\n{flags}\napi_key_env = "MY_ENTRY"\n'
        f'[deployment.env]\nHF_TOKEN = "{ENGINE}"\nMIRROR = "https://someone:{PASSWORD}@mirror/?api_key={FLAG}&x=1"\n'
        f'[[deployment]]\nname = "dead"\nengine = "scripted"\nconcurrency = [1]\n'
        f'flags = ["--script", "none.json", "--say", "HIP out of memory, {FLAG} and {ENGINE}", "--api-key", "{FLAG}"]\n'
        f'[deployment.env]\nHF_TOKEN = "{ENGINE}"\n'
    )
    first = shell.run("run", "campaign.toml", **variables)
    assert first.code == 1, first.err
    second = shell.run("run", "campaign.toml", "--results", "results", **variables)
    runs = [str(folder) for folder in second.folders]
    assert len(runs) == 2
    done = [first, second]
    plugins = json.loads(shell.run("plugins", "--json").out)["plugins"]
    reporters = [name for plugin in plugins for name in plugin["contributions"].get("reporters", ())]
    assert {"page", "inferencex", "history", "leaderboard", "table"} <= set(reporters)
    for reporter in reporters:
        # What is only for two runs, or only for one, says so; that is looked through too.
        done += [
            shell.run("report", *given, "--use", reporter, "--out", f"results-out/{reporter}-{len(given)}") for given in (runs, runs[:1])
        ]
    assert sum(one.code == 0 for one in done[2:]) >= len(reporters)
    (log,) = second.folders[0].glob("launches/scripted*/engine.log")
    for words in (
        ("compare", *runs),
        ("compare", *runs, "--json"),
        ("report", runs[0], "--recompute", "--out", "results-out/again"),
        ("show", runs[0], "scripted-c1"),
        ("show", runs[0], "scripted-c1", "--json"),
        ("show", runs[0], "scripted-c1", "--shell"),
        ("show", runs[0], "dead-c1"),
        ("diagnose", str(log)),
        ("diagnose", str(log), "--json"),
        ("doctor", "--json"),
        ("plan", "campaign.toml"),
        ("plan", "campaign.toml", "--json"),
        ("check", "campaign.toml"),
        ("check", "campaign.toml", "--set", f"deployment.0.api_key={KEY}"),
        ("run", "campaign.toml", "--attach", f"http://someone:{PASSWORD}@127.0.0.1:1/?api_key={FLAG}"),
        ("bench", f"http://someone:{PASSWORD}@127.0.0.1:1", "--model", "m", "--header", f"X-Team:{HEADER}", "--results", "results-bench"),
    ):
        done.append(shell.run(*words, **variables))
        assert "Traceback" not in done[-1].err, words
    raw = shell.write("raw.log", f"HIP out of memory at https://someone:{PASSWORD}@host/?api_key={FLAG}\nAuthorization: Bearer {KEY}\n")
    done += [shell.run("diagnose", str(raw)), shell.run("diagnose", str(raw), "--json")]
    nothing_told(shell, *done)
    for place in ("state", "cache"):
        kept = [path for path in (shell.folder / place).rglob("*") if path.is_file()]
        assert [(path, secret) for path in kept for secret in (*SECRETS, ENCODED) if secret.encode() in path.read_bytes()] == []


def test_the_register_of_launches_holds_no_secret(shell, prompts):
    shell.env = {**shell.env, "XDG_STATE_HOME": str(shell.folder / "results-state")}
    shell.write_campaign(
        '[[deployment]]\nengine = "scripted"\nconcurrency = [1]\n'
        f'flags = ["--ready-after", "600", "--api-key", "{FLAG}"]\n[deployment.env]\nHF_TOKEN = "{ENGINE}"\n'
    )
    running = shell.start("run", "campaign.toml", MY_KEY=KEY)
    register = shell.folder / "results-state" / "ixbench" / "launches"
    running.wait_for(lambda: register.is_dir() and any(register.iterdir()))
    doctor = shell.run("doctor", "--json", MY_KEY=KEY)
    kept = {path.name: path.read_bytes() for path in register.iterdir()}
    running.send(signal.SIGINT)
    assert kept
    assert [secret for secret in SECRETS if any(secret.encode() in content for content in kept.values())] == []
    nothing_told(shell, doctor, running.end())
