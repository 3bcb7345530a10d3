"""KV offload backends that need processes of their own."""

from __future__ import annotations

import json

import pytest

from ixbench.launch.process import fill, port_names
from ixbench.model.deployment import Deployment, EnvVar, HardwareSpec, ModelSpec
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.options import VllmOptions

ADAPTER = VllmAdapter()


def plan(offload, *, options=None, **fields):
    given = {
        "name": "v",
        "engine": "vllm",
        "model": ModelSpec(id="acme/model", label="m"),
        "hardware": HardwareSpec(sku="mi355x", gpus=2),
        "options": VllmOptions.model_validate({"tensor_parallel": 2, "kv_offload": offload, **(options or {})}),
    }
    return ADAPTER.plan(Deployment(**{**given, **fields}))


def config(plan):
    argv = plan.server.argv
    return json.loads(argv[argv.index("--kv-transfer-config") + 1])


def test_an_lmcache_server_for_each_rank_comes_first():
    made = plan({"backend": "lmcache", "host_memory": "599 GB"}, gpu_indices=(4, 5))
    assert [process.name for process in made.processes] == ["lmcache-0", "lmcache-1", "server"]
    first = made.processes[0]
    assert first.argv == (
        "lmcache", "server", "--host", "127.0.0.1", "--port", "{port:lmcache-0}", "--http-host", "127.0.0.1",
        "--http-port", "{port:lmcache-0-http}", "--l1-size-gb", "299", "--l1-init-size-gb", "10", "--l1-read-ttl-seconds", "7200",
        "--chunk-size", "256", "--max-workers", "2", "--eviction-policy", "LRU", "--supported-transfer-mode", "lmcache_driven",
    )  # fmt: skip
    assert (first.readiness.port, first.readiness.health_path, first.readiness.completion) == ("lmcache-0-http", "/healthcheck", False)
    assert first.gpus == (4, 5)
    assert {name: item.value for name, item in first.env.items()} == {"HIP_VISIBLE_DEVICES": "4,5", "PYTHONHASHSEED": "0"}
    assert config(made) == {
        "kv_connector": "LMCacheMPConnector",
        "kv_connector_module_path": "lmcache.integration.vllm.lmcache_mp_connector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "lmcache.mp.server_urls": "tcp://127.0.0.1:{port:lmcache-0},tcp://127.0.0.1:{port:lmcache-1}",
            "lmcache.mp.mq_timeout": 6000.0,
        },
    }
    assert made.identity.kv_offload == "lmcache"
    assert made.files == {}
    assert any("'lmcache' was never run by ixbench on AMD GPUs" in note for note in made.notes)


def test_every_server_has_ports_of_its_own():
    made = plan({"backend": "lmcache", "host_memory": "8 GB"})
    assert port_names(made.processes) == ("lmcache-0", "lmcache-0-http", "lmcache-1", "lmcache-1-http", "http")


def test_the_servers_flags_can_be_set():
    args = {"--chunk_size": 1024, "--max-workers": False, "--new": True}
    argv = plan({"backend": "lmcache", "host_memory": "8 GB", "server_args": args}).processes[0].argv
    assert argv[argv.index("--chunk_size") + 1] == "1024"
    assert "--chunk-size" not in argv
    assert "--max-workers" not in argv
    assert argv[-1] == "--new"


def test_a_server_no_larger_than_its_memory():
    argv = plan({"backend": "lmcache", "host_memory_per_rank": "4.9 GB"}).processes[0].argv
    assert argv[argv.index("--l1-size-gb") + 1] == argv[argv.index("--l1-init-size-gb") + 1] == "4"


@pytest.mark.parametrize(
    ("executable", "expected"), [(None, "lmcache"), ("vllm", "lmcache"), ("/opt/vllm/bin/vllm", "/opt/vllm/bin/lmcache")]
)
def test_the_servers_program_is_that_of_vllms_own_environment(executable, expected):
    assert plan({"backend": "lmcache", "host_memory": "8 GB"}, executable=executable).processes[0].argv[0] == expected


def test_a_mooncake_master_and_the_file_that_tells_of_it(tmp_path):
    made = plan({"backend": "mooncake", "host_memory": "1200 GB"})
    master, server = made.processes
    assert master.argv == ("mooncake_master", "--port={port:mooncake}", "--metrics_port={port:mooncake-http}")
    assert (master.readiness.port, master.readiness.health_path, master.readiness.completion) == ("mooncake-http", "/metrics", False)
    assert server.env["MOONCAKE_CONFIG_PATH"].value == "{folder}/mooncake.json"
    assert "MOONCAKE_CONFIG_PATH" not in master.env
    assert config(made) == {
        "kv_connector": "MooncakeStoreConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"load_async": True},
    }
    ((name, text),) = made.files.items()
    assert name == "mooncake.json"
    assert json.loads(fill(text, ports={"mooncake": 20555}, folder=tmp_path)) == {
        "mode": "embedded",
        "metadata_server": "P2PHANDSHAKE",
        "master_server_address": "127.0.0.1:20555",
        "global_segment_size": 600_000_000_000,
        "local_buffer_size": 2147483648,
        "protocol": "tcp",
        "device_name": "",
        "enable_offload": False,
    }
    assert made.identity.kv_offload == "mooncake"


def test_the_masters_settings_can_be_set():
    offload = {
        "backend": "mooncake",
        "host_memory_per_rank": "1 GB",
        "protocol": "rdma",
        "device": "mlx5_0",
        "local_buffer": "4 GiB",
        "server_args": {"--eviction_ratio": 0.1, "--enable_gc": True},
        "connector": {"load_async": False},
    }
    made = plan(offload)
    assert made.processes[0].argv[-2:] == ("--eviction_ratio=0.1", "--enable_gc")
    written = json.loads(made.files["mooncake.json"])
    assert (written["protocol"], written["device_name"], written["local_buffer_size"]) == ("rdma", "mlx5_0", 4 * 2**30)
    assert config(made)["kv_connector_extra_config"] == {"load_async": False}


def test_variables_that_are_not_vllms_own_apply_to_sidecars_too():
    env = {name: EnvVar(value="1", reason="", origin="") for name in ("LMCACHE_LOG_LEVEL", "VLLM_ROCM_USE_AITER")}
    made = plan({"backend": "lmcache", "host_memory": "8 GB"}, env=env)
    assert "LMCACHE_LOG_LEVEL" in made.processes[0].env
    assert not [name for name in made.processes[0].env if name.startswith("VLLM_")]


@pytest.mark.parametrize("backend", ["off", "simple", "native"])
def test_the_other_backends_need_no_process(backend):
    memory = {} if backend == "off" else {"host_memory": "8 GB"}
    made = plan({"backend": backend, **memory})
    assert len(made.processes) == 1
    assert made.files == {}
