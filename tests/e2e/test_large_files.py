"""Files of gigabytes, nested or endless: every command that reads a file of others answers with a sentence, in bounded memory."""

from __future__ import annotations

import resource

import pytest

from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run

pytestmark = pytest.mark.timeout(400)

MOST_BYTES = 3 << 30
"""Of address space that a command may have: less than a file of 2 GB takes with one copy of it, and four times what is needed."""
HUGE = 2_000_000_000
CAMPAIGN = """\
schema = 1
title = "T"
[model]
id = "m"
[hardware]
sku = "cpu"
gpus = 1
[workload]
use = "{use}"
file = "{file}"
[[deployment]]
engine = "endpoint"
url = "http://127.0.0.1:1"
concurrency = 1
"""


@pytest.fixture
def bounded(shell):
    """Return a function that runs a command in bounded memory, and holds that it ends with a sentence."""

    def run(*words):
        running = shell.start(*words)
        resource.prlimit(running.popen.pid, resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        done = running.end(200)
        assert "Traceback" not in done.err
        assert "MemoryError" not in done.err
        return done

    return run


def sparse(path, size=HUGE, start=b""):
    """Make a file that is zeros after its start, and takes no room."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)
    return path


def one_sentence(done, code=2):
    assert done.code == code, done.err
    assert len(done.err.splitlines()) == 1
    assert len(done.err) < 1000


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.toml", ("check", "FILE")),
        ("a.json", ("report", "FILE")),
        ("a.jsonl", ("report", "FILE")),
        ("a.json", ("import", "FILE", "--out", "out")),
        ("a.json", ("trace", "inspect", "FILE")),
        ("a.jsonl", ("trace", "inspect", "FILE")),
        ("a.jsonl", ("trace", "convert", "FILE", "--to", "azure", "--out", "out.csv")),
    ],
)
@pytest.mark.parametrize("start", [b"", b"{", b'[{"hw":"'])
def test_a_file_of_one_endless_line(shell, bounded, name, words, start):
    path = sparse(shell.folder / name, start=start)
    done = bounded(*(str(path) if word == "FILE" else word for word in words))
    one_sentence(done)
    assert "larger than" in done.err or "longer than" in done.err


@pytest.mark.parametrize("use", ["prompts", "mooncake", "azure"])
def test_traffic_of_one_endless_line(shell, bounded, use):
    shell.write("campaign.toml", CAMPAIGN.format(use=use, file=sparse(shell.folder / "traffic")))
    done = bounded("check", "campaign.toml")
    one_sentence(done)
    assert "is larger than" in done.err


def test_an_endless_line_of_a_log_is_searched_at_both_ends(shell, bounded):
    path = sparse(shell.folder / "engine.log", start=b"HIP out of memory. ")
    done = bounded("diagnose", str(path))
    assert done.code == 0
    assert "gpu-out-of-memory" in done.out
    assert "were not searched" in done.out


@pytest.mark.parametrize("name", ["run.json", "point.json", "requests.jsonl", "samples.jsonl", "chunks.bin"])
def test_a_strangers_run_folder(shell, bounded, tmp_path, name):
    run = write_sample_run(tmp_path / "theirs", load_host(), requests=8, chunks=2)
    path = run / name if name == "run.json" else run / "points" / "vllm-c1" / name
    sparse(path, start=path.read_bytes())
    done = bounded("report", str(run), "--recompute", "--out", "out")
    one_sentence(done)
    assert str(path.name) in done.err


@pytest.mark.parametrize(
    "content", [b"[" * 3_000_000, b'{"a":' * 3_000_000, b"a = " + b"[" * 2_000_000, b"[a" + b".b" * 1_000_000 + b"]", b"9" * 3_000_000]
)
def test_deep_nesting_is_a_sentence(shell, bounded, content):
    path = shell.folder / "deep"
    path.write_bytes(content)
    for words in (("check", "deep"), ("report", "deep"), ("trace", "inspect", "deep")):
        one_sentence(bounded(*words))
