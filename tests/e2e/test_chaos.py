"""256 users against a server and a network that do everything wrong: each request is accounted for, and nothing is left open.

    IXBENCH_TEST_CHAOS_S=600 pytest -n 0 tests/e2e/test_chaos.py

goes on for that long; without the variable only for a few seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psutil
import pytest

from ixbench.store.folder import RunReader
from ixbench.testing.running import server_process
from ixbench.testing.script import KINDS

pytestmark = pytest.mark.timeout(0)

LASTS_S = float(os.environ.get("IXBENCH_TEST_CHAOS_S", "4"))
USERS = 256
LIMIT_S = 3.0
ENDS_WITHIN_S = 120.0
SPARE_DESCRIPTORS = 100
GROWTH = 1.3
"""Of the client's memory from the first third to the last (medians); what it keeps of each request is written down and let go of. Only
when all is over it reads everything once more, which takes its own."""
LEFT_OUT = {"die", "ok"}
"""The one ends the server, the other is what is sent when no rule fits."""
SCRIPT = {
    "default": {"gap_s": 0.005},
    "rules": [{"every": 40 + 7 * number, "reply": kind} for number, kind in enumerate(sorted(KINDS.keys() - LEFT_OUT))],
}
CAMPAIGN = """\
schema = 1
title = "Chaos"
[model]
id = "scripted"
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "fixed"
input_tokens = 32
output_tokens = 8
warmup = 0
duration = "{lasts}s"
request_limit = {limit}
[[deployment]]
engine = "endpoint"
url = "http://127.0.0.1:{port}"
concurrency = {users}
"""


@pytest.fixture
def proxy(tmp_path):
    """Run the scripted server with all its faults behind the relay with all of its own; yield the relay."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps(SCRIPT))
    with server_process("--script", str(path)) as server:
        there = urlsplit(server.url)
        command = [sys.executable, Path(__file__).with_name("chaos_proxy.py"), there.hostname, str(there.port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as relay:
            try:
                yield relay
            finally:
                relay.kill()


def test_every_request_is_accounted_for_and_nothing_leaks(shell, proxy):
    port = int(proxy.stdout.readline())
    shell.write("campaign.toml", CAMPAIGN.format(lasts=LASTS_S, limit=LIMIT_S, port=port, users=USERS))
    running = shell.start("run", "campaign.toml")
    client = psutil.Process(running.popen.pid)
    descriptors, memory = [], []
    ends = time.monotonic() + LASTS_S + ENDS_WITHIN_S
    while running.popen.poll() is None:
        assert time.monotonic() < ends, running.err.read_text()
        try:
            descriptors.append(client.num_fds())
            memory.append(client.memory_info().rss)
        except psutil.Error:
            break
        time.sleep(0.2)
    done = running.end()
    proxy.stdin.close()
    spoiled = json.loads(proxy.stdout.readline())
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    assert spoiled.keys() >= {"late", "drop", "reset", "cut", "twice", "loris", "never"}, spoiled

    (path,) = done.folder.glob("points/*/point.json")
    point = json.loads(path.read_text())
    accounting = point["accounting"]
    records = RunReader(done.folder).records(path.parent.name)
    assert point["verdict"]["status"] == "invalid"
    assert accounting["requests"] == accounting["ok"] + sum(accounting["failed"].values()) + accounting["cancelled"]
    assert accounting["requests"] == len(records) == len({record.req_id for record in records})
    assert accounting["failed"] == Counter(record.failure for record in records if record.failure is not None and not record.cancelled)
    assert accounting["requests"] > USERS
    assert set(accounting["failed"]) >= {"transport", "truncated", "http_status", "malformed"}, accounting

    assert max(descriptors) < USERS + SPARE_DESCRIPTORS
    third = len(memory) // 3
    if LASTS_S >= 60:
        assert median(memory[-third:]) < GROWTH * median(memory[:third]), "the client grows"
    sys.stdout.write(
        json.dumps({"accounting": accounting, "relay": spoiled, "descriptors": max(descriptors), "rss_mb": max(memory) / 1e6}) + "\n"
    )
