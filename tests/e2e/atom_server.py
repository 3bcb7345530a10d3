"""Stands in for `python -m atom.entrypoints.openai_server`: ATOM's flags, its log, a worker process, and the scripted server in its shape.

Tests copy it to where Python finds it under that name. Variables of its own: FAKE_ATOM_GARBAGE makes it answer nonsense, FAKE_ATOM_DIES_AT
tells the completion request at which its worker is killed, FAKE_ATOM_HANGS_AT that at which nothing moves any more, FAKE_ATOM_SPINS_AT the
same while a process computes for ever (not again once the file FAKE_ATOM_ONCE is there), FAKE_ATOM_SILENT that the log does not tell. The
API then stays up with a constant /health, as ATOM's does, and every stream stands still. FAKE_ATOM_COMPUTES_S tells for how long all stands
still with the prompt that says "at length", FAKE_ATOM_REFRESH_S how old the page may be.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from ixbench.testing.atom_shape import AtomShape
from ixbench.testing.script import Reply, Rule, Script
from ixbench.testing.scripted_server import ScriptedServer, ServerOptions

LONG = "at length"
"""In the prompt that takes its time."""
ACCEPTED = 3
"""Tokens of each step under speculation: all of two drafts pass, and the target's own."""


class FlexibleParser(argparse.ArgumentParser):
    """Takes each long flag with dashes and with underscores, as ATOM's does."""

    def add_argument(self, *names, **settings):
        """Add the other spelling."""
        both = dict.fromkeys(names)
        for name in names:
            if name.startswith("--"):
                both |= dict.fromkeys((f"--{name[2:].replace('_', '-')}", f"--{name[2:].replace('-', '_')}"))
        return super().add_argument(*both, **settings)


def parser():
    """Return the parser, with the kinds of values that ATOM takes."""
    made = FlexibleParser(prog="openai_server.py", description="ATOM OpenAI API Server")
    for flag in (
        "--model",
        "--served-model-name",
        "--draft-model",
        "--torch-profiler-dir",
        "--cudagraph-capture-sizes",
        "--kv-transfer-config",
    ):
        made.add_argument(flag)
    for flag in ("--port", "--block-size", "--max-model-len", "--max-num-seqs", "--max-num-batched-tokens", "--num-speculative-tokens"):
        made.add_argument(flag, type=int)
    for flag in ("--gpu-memory-utilization", "--spec-decode-acceptance-length", "--spec-decode-acceptance-rate"):
        made.add_argument(flag, type=float)
    for flag in ("--trust-remote-code", "--enforce-eager", "--enable-expert-parallel", "--mark-trace"):
        made.add_argument(flag, action="store_true")
    made.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    made.add_argument("--data-parallel-size", "-dp", type=int, default=1)
    made.add_argument("--method", choices=("mtp", "eagle3", "dspark"))
    made.add_argument("--kv_cache_dtype", choices=("bf16", "fp8"), default="bf16")
    made.add_argument("--enable_prefix_caching", action=argparse.BooleanOptionalAction, default=True)
    made.add_argument("--online_quant_config", type=json.loads)
    made.add_argument("--host", default="0.0.0.0")
    made.add_argument("--server-port", type=int, default=8000)
    made.add_argument("--timeout-keep-alive", type=int, default=5)
    return made


def log(text):
    """Write a line as ATOM's logger does."""
    sys.stdout.write(f"[atom {time.strftime('%H:%M:%S')}] {text}\n")
    sys.stdout.flush()


def script(drafts):
    """Return the answers: right ones for the sanity prompts, slow ones for all else."""
    usual = Reply(prefill_s=0.005, gap_s=0.005, tokens_per_event=ACCEPTED if drafts else 1)
    known = (("capital of France", "It is Paris."), ("next number", "10, of course"))
    if os.environ.get("FAKE_ATOM_GARBAGE"):
        known = ()
    rules = [Rule(contains=asked, reply=Reply(text=said)) for asked, said in known]
    return Script(default=usual, rules=(*rules, Rule(contains=LONG, reply=replace(usual, prefill_s=0.5))))


def reached(server, variable):
    """Say whether the completion request that a variable names has arrived."""
    last = int(os.environ.get(variable, "0"))
    return last and server.totals["requests"] >= last


def spin(server):
    """Hang as a kernel does that never ends, once only: a process computes, and the server waits for it."""
    once = Path(os.environ["FAKE_ATOM_ONCE"])
    if once.exists():
        return
    server.frozen = True
    once.write_text(f"{time.time():.3f}")
    subprocess.Popen([sys.executable, "-c", "import os; os.nice(19)\nwhile True: pass"])


async def serve(given, worker):
    """Serve until TERM, and stand still once the worker is dead."""
    drafts = (given.num_speculative_tokens or 1) if given.method else 0
    atom = AtomShape(
        model=given.served_model_name or given.model,
        draft_tokens=drafts,
        tensor_parallel=given.tensor_parallel_size,
        refresh_s=float(os.environ.get("FAKE_ATOM_REFRESH_S", "0.2")),
        profile_folder=given.torch_profiler_dir,
    )
    options = ServerOptions(
        host=given.host, port=given.server_port, model=atom.model, script=script(drafts), cached=given.enable_prefix_caching, atom=atom
    )
    server, ended = ScriptedServer(options), asyncio.Event()
    computes_s = float(os.environ.get("FAKE_ATOM_COMPUTES_S", "0"))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    log(f"Starting server on {given.host}:{given.server_port} (loop=uvloop)...")
    await server.start()
    log("Server started successfully and ready to accept requests")
    while not ended.is_set():
        if reached(server, "FAKE_ATOM_DIES_AT") and worker.poll() is None:
            worker.kill()
        if worker.poll() is not None and not server.frozen:
            server.frozen = True
            if not os.environ.get("FAKE_ATOM_SILENT"):
                log(f"ModelRunner0/{given.tensor_parallel_size} proc died unexpectedly (exitcode={worker.returncode})")
        if reached(server, "FAKE_ATOM_HANGS_AT"):
            server.frozen = True
        if reached(server, "FAKE_ATOM_SPINS_AT"):
            spin(server)
        if computes_s and any(LONG in str(entry["body"]) for entry in server.log):
            server.frozen = True
            asyncio.get_running_loop().call_later(computes_s, setattr, server, "frozen", False)
            computes_s = 0.0
        try:
            await asyncio.wait_for(ended.wait(), 0.01)
        except TimeoutError:
            continue
    await server.close()


def main():
    """Start the worker, write what ATOM writes, serve, end the worker."""
    given = parser().parse_args()
    log(f"Loading tokenizer from {given.model}...")
    log(f"Initializing engine with model {given.model}...")
    log(f"Engine kwargs: {vars(given)}")
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    log("Model warmup done")
    log("Memory budget: total_gpu=287.98GB, free=280.10GB, utilization=0.9")
    log("All EngineCores are fully initialized and ready")
    try:
        asyncio.run(serve(given, worker))
    finally:
        worker.kill()
        worker.wait()


if __name__ == "__main__":
    main()
