"""Runs llama.cpp's OpenAI server on loopback: `python -m ixbench_plugins.engines.llamacpp.serve`. Ends with the process that started it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ixbench.api.engine import KEEP_VARIABLE, LOOPBACK, counted
from ixbench_plugins.tiny.gguf_file import cached_model
from ixbench_plugins.tiny.model import TinyModel

if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDS = "engine llamacpp needs {package}: pip install 'ixbench[llamacpp]'"
_PARENT_POLL_S = 0.5


def parse_settings(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the settings of a command line; exits with code 2 and one sentence where it is wrong."""
    tiny = TinyModel()
    parser = argparse.ArgumentParser(prog="llamacpp", description=__doc__, allow_abbrev=False)
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--name", required=True, help="the model's served name")
    parser.add_argument("--model", type=Path, help="a GGUF file; default: a tiny model made on the spot")
    parser.add_argument("--tiny-width", type=int, default=tiny.width, help="tiny model: size of the hidden state")
    parser.add_argument("--tiny-layers", type=int, default=tiny.layers, help="tiny model: layers")
    parser.add_argument("--tiny-seed", type=int, default=tiny.seed, help="tiny model: seed of the weights")
    parser.add_argument("--slots", type=int, default=16, help="requests served at once")
    parser.add_argument("--context", type=int, default=2048, help="tokens of a slot")
    parser.add_argument("--threads", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1), help="CPU threads")
    parser.add_argument("--no-prompt-cache", action="store_true", help="compute every prompt from its first token")
    parser.add_argument("--batch-tokens", type=int, default=2048, help="most prompt tokens of one step")
    return parser.parse_args(arguments)


def model_file(settings: argparse.Namespace) -> Path:
    """Return the model's file; a tiny model is made now unless it was made before."""
    if settings.model is not None:
        if not settings.model.is_file():
            sys.exit(f"error: there is no model file {settings.model}")
        return Path(settings.model)
    tiny = TinyModel(width=settings.tiny_width, layers=settings.tiny_layers, seed=settings.tiny_seed)
    _say(f"tiny model: width {tiny.width}, {counted(tiny.layers, 'layer')}, seed {tiny.seed}")
    try:
        return cached_model(tiny)
    except ImportError as error:
        sys.exit(NEEDS.format(package=error.name))
    except OSError as error:
        sys.exit(f"error: the tiny model cannot be kept: {error}; set XDG_CACHE_HOME to a folder that can be written")


def _wheel() -> Any:  # noqa: ANN401 - the wheel has no types
    try:
        return import_module("xllamacpp")
    except ImportError:
        sys.exit(NEEDS.format(package="xllamacpp"))


def server_parameters(settings: argparse.Namespace, model: Path) -> Any:  # noqa: ANN401 - the wheel has no types
    """Return the wheel's parameters for the settings."""
    parameters = _wheel().CommonParams()
    parameters.model.path = str(model)
    parameters.model_alias = {settings.name}
    parameters.hostnames, parameters.port = [LOOPBACK], settings.port
    parameters.n_parallel, parameters.n_ctx = settings.slots, settings.slots * settings.context
    parameters.kv_unified = False  # every slot has its own context: none fails because others hold long prompts
    parameters.n_batch = settings.batch_tokens
    parameters.cache_prompt = not settings.no_prompt_cache
    parameters.cache_ram_mib = 0  # a slot's prompt is kept by the slot alone, never copied aside at a time of the server's choosing
    parameters.endpoint_metrics = True
    parameters.ui = False
    for threads in (parameters.cpuparams, parameters.cpuparams_batch):
        threads.n_threads = settings.threads
        threads.poll = 0  # waiting threads sleep, so that they leave the cores to whoever has work
    return parameters


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def serve(settings: argparse.Namespace) -> None:
    """Serve until the process that started us is gone, or for good where the user wants the engine kept."""
    parent = os.getppid()
    wheel = _wheel()
    model = model_file(settings)
    slots = f"{counted(settings.slots, 'slot')} of {counted(settings.context, 'token')}"
    _say(f"serving {model} on {counted(settings.threads, 'thread')}, {slots}")
    try:
        server = wheel.Server(server_parameters(settings, model))
    except RuntimeError as error:
        sys.exit(f"error: llama.cpp could not start: {error}")
    _say(f"listening on {server.listening_address}")
    while os.getppid() == parent or KEEP_VARIABLE in os.environ:
        time.sleep(_PARENT_POLL_S)
    # The server's threads do not end by themselves once there is nobody to stop them.
    os._exit(0)


if __name__ == "__main__":
    serve(parse_settings())
