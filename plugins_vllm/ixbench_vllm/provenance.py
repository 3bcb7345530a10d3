"""What a running vLLM says about itself: version, configuration, environment, cache; small enough to stand with every point."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.api.engine import Engine

_OK = 200
_LIMIT_BYTES = 8 * 2**20
_DEPTH, _ITEMS, _TEXT = 4, 80, 300
PARTS = (
    "model_config",
    "cache_config",
    "parallel_config",
    "scheduler_config",
    "compilation_config",
    "speculative_config",
    "kv_transfer_config",
    "attention_config",
    "kernel_config",
    "load_config",
    "additional_config",
)
"""Parts of vLLM's configuration that a result rests on."""
PACKAGES = ("vllm", "torch", "triton", "amd-aiter", "aiter", "amd-quark", "lmcache", "mooncake-transfer-engine", "atom", "transformers")
SYSTEM = ("torch_version", "hip_runtime_version", "hip_compiled_version", "miopen_runtime_version", "cuda_runtime_version", "os")
_PACKAGE = re.compile(r"^(?:\[pip3?\]\s*)?(?P<name>[A-Za-z0-9_.-]+)\s*==?\s*(?P<version>\S+)", re.MULTILINE)
SERVER_INFO = "/server_info?config_format=json"
"""In dev mode only."""
_CACHE_INFO = "vllm:cache_config_info"


async def provenance(engine: Engine) -> dict[str, object]:
    """Return what the server tells; what it does not tell is left out."""
    client = engine.client
    facts: dict[str, object] = {}
    version = table(await get_json(client, "/version")).get("version")
    if isinstance(version, str):
        facts["engine_version"] = version
    models = table(await get_json(client, "/v1/models")).get("data")
    for entry in models if isinstance(models, list) else ():
        if isinstance(entry, dict) and entry.get("max_model_len") is not None:
            facts["max_model_len"] = entry["max_model_len"]
            break
    labels = cache_labels(await get_text(client, "/metrics"))
    if labels:
        facts["cache_config_info"] = labels
    info = table(await get_json(client, SERVER_INFO))
    return facts | server_info(info)


def server_info(info: Mapping[str, Any]) -> dict[str, object]:
    """Return what counts of `/server_info`: parts of the configuration, variables that are set to something, and package versions. Pure."""
    facts: dict[str, object] = {}
    config = {name: small(part) for name, part in table(info.get("vllm_config")).items() if name in PARTS and part not in (None, {}, [])}
    if config:
        facts["vllm_config"] = config
    env = {
        name: small(value) for name, value in table(info.get("vllm_env")).items() if value is not False and value not in (None, "", [], {})
    }
    if env:
        facts["vllm_env"] = env
    system = table(info.get("system_env"))
    kept = {name: small(system[name]) for name in SYSTEM if isinstance(system.get(name), str)}
    if kept:
        facts["system_env"] = kept
    packages = {
        match["name"]: match["version"]
        for match in _PACKAGE.finditer(f"{system.get('pip_packages') or ''}\n{system.get('conda_packages') or ''}")
        if match["name"].lower().replace("_", "-") in PACKAGES
    }
    if packages:
        facts["packages"] = packages
    return facts


def small(value: object, depth: int = _DEPTH) -> object:
    """Return a value without what is empty, with long lists and texts cut."""
    if isinstance(value, dict):
        if depth == 0:
            return "..."
        return {key: small(item, depth - 1) for key, item in list(value.items())[:_ITEMS] if item not in (None, "", [], {})}
    if isinstance(value, list):
        if depth == 0:
            return "..."
        return [small(item, depth - 1) for item in value[:_ITEMS]] + (["..."] if len(value) > _ITEMS else [])
    if isinstance(value, str) and len(value) > _TEXT:
        return f"{value[:_TEXT]}..."
    return value


def cache_labels(page: str) -> dict[str, str]:
    """Return the labels of vLLM's gauge about its cache, such as num_gpu_blocks and block_size; empty where there is none. Pure."""
    from prometheus_client.parser import text_string_to_metric_families

    line = next((line for line in page.splitlines() if line.startswith(_CACHE_INFO)), None)
    if line is None:
        return {}
    try:
        samples = [sample for family in text_string_to_metric_families(line + "\n") for sample in family.samples]
    except (ValueError, LookupError):
        return {}
    return {name: value for name, value in samples[0].labels.items() if value not in ("", "None")} if samples else {}


async def get_text(client: httpx.AsyncClient, path: str) -> str:
    """Return a page of the server, or an empty text where it has none."""
    try:
        response = await client.get(path)
    except httpx.HTTPError:
        return ""
    return response.text if response.status_code == _OK and len(response.content) <= _LIMIT_BYTES else ""


async def get_json(client: httpx.AsyncClient, path: str) -> object:
    """Return a JSON page of the server, or None where it has none."""
    import json

    text = await get_text(client, path)
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def table(value: object) -> dict[str, Any]:
    """Return a JSON object as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}
