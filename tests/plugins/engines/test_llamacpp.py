from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from ixbench.api.engine import Deployment, Engine, HardwareSpec, ModelSpec
from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError
from ixbench.launch.ports import lease_ports
from ixbench.testing.running import port_gets_free
from ixbench_plugins.engines.llamacpp import serve
from ixbench_plugins.engines.llamacpp.adapter import RESERVED, LlamaCppAdapter
from ixbench_plugins.engines.llamacpp.options import LlamaCppOptions
from ixbench_plugins.engines.llamacpp.signatures import LLAMACPP_SIGNATURES
from ixbench_plugins.runtimes.process import ProcessRuntime
from ixbench_plugins.tiny.words import WORDS

pytestmark = pytest.mark.anyio
SMALL = {"tiny_width": 256, "tiny_layers": 1, "slots": 4, "context": 512, "threads": 1}


def deployment(**fields):
    options = fields.pop("options", {})
    values = {
        "name": "llamacpp",
        "engine": "llamacpp",
        "model": ModelSpec(id="tiny", label="tiny"),
        "hardware": HardwareSpec(sku="cpu", gpus=1),
        "options": LlamaCppOptions(**options),
        "concurrency": 1,
    }
    return Deployment(**(values | fields))


def plan(**fields):
    return LlamaCppAdapter().plan(deployment(**fields))


def test_the_plan_is_the_child_process_with_every_setting():
    (process,) = plan().processes
    assert process.argv == (
        *("{python}", "-m", "ixbench_plugins.engines.llamacpp.serve", "--port", "{port:http}", "--name", "tiny"),
        *("--tiny-width", "512", "--tiny-layers", "4", "--tiny-seed", "0", "--slots", "16", "--context", "2048"),
    )
    assert plan().served_model == "tiny"
    assert any("random weights" in note for note in plan().notes)


def test_all_concurrencies_share_one_start():
    assert plan(concurrency=1) == plan(concurrency=16)


def test_a_model_file_takes_the_place_of_the_tiny_model():
    made = plan(model=ModelSpec(id="m", label="m", path="/models/m.gguf"), options={"threads": 3, "prompt_cache": False})
    argv = made.processes[0].argv
    assert argv[argv.index("--model") + 1] == "/models/m.gguf"
    assert "--tiny-width" not in argv
    assert argv[argv.index("--threads") + 1] == "3"
    assert argv[-1] == "--no-prompt-cache"
    assert made.notes == ()


def test_args_replace_flags_and_an_executable_the_interpreter():
    argv = plan(args={"--slots": 2, "--batch-tokens": 64}, executable="/opt/python").processes[0].argv
    assert argv[0] == "/opt/python"
    assert argv[argv.index("--slots") + 1] == "2"
    assert argv[-2:] == ("--batch-tokens", "64")


def test_a_running_server_is_not_launched():
    made = plan(url="http://127.0.0.1:8080", model=ModelSpec(id="", label=""))
    assert (made.processes, made.url, made.served_model) == ((), "http://127.0.0.1:8080", None)


def test_settings_without_effect_and_users_without_slots_are_told():
    def codes(**fields):
        return [finding.code for finding in LlamaCppAdapter().validate(deployment(**fields))]

    assert codes(concurrency=16) == []
    assert codes(concurrency=17) == ["more_users_than_slots"]
    assert codes(options={"tiny_layers": 2}) == []
    assert codes(options={"tiny_layers": 2}, model=ModelSpec(id="m", label="m", path="/m.gguf")) == ["tiny_unused"]
    assert codes(gpu_indices=(0,)) == ["gpus_unused"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"--port": 80}, "args: --port can't be set here; ixbench chooses a free port"),
        ({"--host": "0.0.0.0"}, "args: --host can't be set here; the server listens on 127.0.0.1 only"),
        ({"--name": "m"}, "args: --name can't be set here; the served name is [model] id"),
        ({"--model": "/m.gguf"}, "args: --model can't be set here; the model's file stands in [model] path"),
        ({"slots": 2}, "args: 'slots' is no flag; write it with its dashes, '--slots'"),
        ({"--n-gpu-layers": 1}, "args: the server of this package has no flag --n-gpu-layers; allowed: --batch-tokens, --context, "),
        ({"--prompt-cache": True}, "args: the server of this package has no flag --prompt-cache; allowed: "),
        ({"--no-prompt-cache": 1}, "args: --no-prompt-cache takes no value; write true, or false to leave it out"),
        ({"--slots": "many"}, 'args: --slots takes a whole number, found "many"'),
        ({"--slots": True}, "args: --slots takes a whole number, found true"),
    ],
)
def test_args_that_the_server_would_refuse_or_ixbench_would_not_find_are_errors(args, told):
    (finding,) = LlamaCppAdapter().validate(deployment(args=args))
    assert finding.level == "error"
    assert finding.text.startswith(told)


def test_every_flag_of_the_server_is_known_or_reserved(capsys):
    with pytest.raises(SystemExit):
        serve.parse_settings(["--help"])
    flags = set(re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert {"--port", "--slots", "--batch-tokens"} <= flags
    for flag in flags:
        value = True if flag == "--no-prompt-cache" else 64
        assert [finding.code for finding in LlamaCppAdapter().validate(deployment(args={flag: value}))] == (
            ["reserved_flag"] if flag in RESERVED else []
        ), flag
    assert list(LlamaCppAdapter().validate(deployment(args={"--threads": False, "--slots": "2"}))) == []


@asynccontextmanager
async def running(folder, **fields):
    fields["options"] = SMALL | fields.get("options", {})
    async with start_engine("test", plan(**fields), runtime=ProcessRuntime(), folder=folder, signatures=LLAMACPP_SIGNATURES) as engine:
        yield engine


async def ask(engine, text, **more):
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 5, "temperature": 0} | more
    response = await engine.client.post("/v1/chat/completions", json=body, timeout=60)
    return response.raise_for_status().json()


async def counters(engine):
    text = (await engine.client.get("/metrics")).text
    return {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


async def test_the_real_server_serves_and_leaves_nothing(tmp_path):
    async with running(tmp_path) as engine:
        assert engine.model == "tiny"
        pid, port = engine.pids[0], int(engine.url.rpartition(":")[2])
        base = (await ask(engine, "the"))["usage"]["prompt_tokens"]
        assert (await ask(engine, " ".join(WORDS[:300])))["usage"]["prompt_tokens"] == base + 299
        before = await counters(engine)
        answer = await ask(engine, "the day", max_tokens=40, ignore_eos=True)
        after = await counters(engine)
        assert answer["usage"]["completion_tokens"] == 40
        assert after["llamacpp:tokens_predicted_total"] - before["llamacpp:tokens_predicted_total"] == 40
        said = answer["choices"][0]["message"]["content"].split()
        assert len(said) == 40
        assert set(said) <= set(WORDS)
        found = await LlamaCppAdapter().provenance(Engine(url=engine.url, model=engine.model, client=engine.client))
        assert found["engine_version"].startswith("xllamacpp ")
        assert (found["slots"], found["context"]) == (4, 512)
    assert not psutil.pid_exists(pid)
    assert port_gets_free(port)


async def test_all_words_are_single_tokens_for_the_real_tokenizer(tmp_path):
    async with running(tmp_path) as engine:
        response = await engine.client.post("/tokenize", json={"content": "".join(f" {word}" for word in WORDS)})
        assert len(response.json()["tokens"]) == len(WORDS)
        response = await engine.client.post("/tokenize", json={"content": "<|im_start|>user\nhello", "parse_special": True})
        assert response.json()["tokens"][0] == 1


async def test_answers_are_equal_for_equal_prompts_and_end_by_themselves(tmp_path):
    async with running(tmp_path) as engine:
        answers = [await ask(engine, f"the {word}", max_tokens=400) for word in WORDS[:12]]
        assert "stop" in {answer["choices"][0]["finish_reason"] for answer in answers}
        again = await ask(engine, f"the {WORDS[0]}", max_tokens=400)
        assert again["choices"][0]["message"] == answers[0]["choices"][0]["message"]


@pytest.mark.parametrize(("prompt_cache", "reused"), [(True, True), (False, False)])
async def test_the_prompt_cache_does_as_it_is_told(tmp_path, prompt_cache, reused):
    async with running(tmp_path, options={"prompt_cache": prompt_cache, "slots": 1}) as engine:
        text = "the house and the water and the day and the night"
        await ask(engine, text)
        usage = (await ask(engine, text + " and the sun"))["usage"]
        assert (usage["prompt_tokens_details"]["cached_tokens"] > 8) is reused


async def fails(folder, **fields):
    with pytest.raises(EngineError) as caught:
        async with running(folder, **fields):
            pytest.fail("the engine counts as ready")
    return caught.value.failure


async def test_a_missing_model_file_is_one_sentence(tmp_path):
    failure = await fails(tmp_path, model=ModelSpec(id="m", label="m", path=str(tmp_path / "absent.gguf")))
    assert failure.code == "llamacpp-model-missing"
    assert "absent.gguf" in failure.evidence[0]


async def test_a_broken_model_file_is_one_sentence(tmp_path):
    (tmp_path / "broken.gguf").write_text("no model")
    failure = await fails(tmp_path, model=ModelSpec(id="m", label="m", path=str(tmp_path / "broken.gguf")))
    assert failure.code == "llamacpp-model-refused"


async def test_an_unknown_flag_is_refused(tmp_path):
    failure = await fails(tmp_path, args={"--slotz": 4})
    assert "unrecognized arguments: --slotz 4" in "".join(failure.evidence)


@pytest.mark.parametrize("package", ["xllamacpp", "gguf"])
def test_a_missing_extra_is_one_sentence(package, tmp_path):
    code = f"import sys; sys.modules[{package!r}] = None\nfrom ixbench_plugins.engines.llamacpp import serve\n"
    code += "serve.serve(serve.parse_settings(['--port', '1', '--name', 'x']))"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert run.returncode == 1
    assert run.stderr.strip() == f"engine llamacpp needs {package}: pip install 'ixbench[llamacpp]'"


def test_the_defaults_of_server_and_options_are_the_same():
    settings, options = serve.parse_settings(["--port", "1", "--name", "x"]), LlamaCppOptions()
    assert (settings.slots, settings.context) == (options.slots, options.context)
    assert (settings.tiny_width, settings.tiny_layers, settings.tiny_seed) == (options.tiny_width, options.tiny_layers, options.tiny_seed)


STARTER = """
import subprocess, sys, time
argv = [sys.executable, "-m", "ixbench_plugins.engines.llamacpp.serve", *sys.argv[1:]]
child = subprocess.Popen(argv, start_new_session=True, stdout=sys.stderr)
print(child.pid, flush=True)
time.sleep(600)
"""


def test_the_server_ends_when_its_parent_is_killed():
    with lease_ports(["http"]) as lease:
        arguments = ["--port", str(lease.numbers["http"]), "--name", "x", "--tiny-width", "256", "--tiny-layers", "1", "--slots", "1"]
        starter = subprocess.Popen([sys.executable, "-c", STARTER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server = psutil.Process(int(starter.stdout.readline()))
        while "listening on" not in starter.stderr.readline():
            assert server.is_running()
        starter.kill()
        starter.communicate()
        deadline = time.monotonic() + 60
        while server.is_running() and server.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.05)
