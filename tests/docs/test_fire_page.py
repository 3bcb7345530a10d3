"""docs/fire.md names files that are there, each target of the fuzzer, and limits as the code has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ixbench.launch.bounded import LARGEST_ANSWER_BYTES
from ixbench.launch.control import MOST_BYTES as MODELS_BYTES
from ixbench.launch.log import LINE_BYTES, READ_BYTES
from ixbench.measure.exposition import PAGE_LIMIT_BYTES as PAGE_BYTES
from ixbench.replay.interpret import MOST_CHOICES
from ixbench.replay.sse import LARGEST_EVENT_BYTES, MOST_LINES
from ixbench.replay.wire.limits import LARGEST_BODY_BYTES, LARGEST_CHUNK_LINE_BYTES, LARGEST_HEAD_BYTES, MOST_READS
from ixbench.report.foreign import LARGEST_FILE
from ixbench.store.encode import LARGEST_DOCUMENT_BYTES
from ixbench.store.lines import LONGEST_LINE_BYTES
from ixbench_plugins.traces.lines import MOST_BYTES, MOST_LINE_BYTES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "fire.md").read_text(encoding="utf-8")
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def test_every_file_that_a_command_names_is_there():
    named = set(re.findall(r"tests/[\w/]+(?:\.py)?", PAGE))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_target_of_the_fuzzer_has_its_command():
    declared = re.findall(r'^    "(\w+)": Target\(', (ROOT / "tests" / "fuzz" / "targets.py").read_text(), re.MULTILINE)
    assert re.findall(r"`python tests/fuzz/fuzz\.py (\w+)`", PAGE) == declared


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("head of a response, interim responses, trailers", f"{LARGEST_HEAD_BYTES // KIB} KiB each"),
        ("line before a chunk", f"{LARGEST_CHUNK_LINE_BYTES // KIB} KiB"),
        ("body of a response", f"{LARGEST_BODY_BYTES // MIB} MiB, {MOST_READS:,} reads, {MOST_LINES:,} lines"),
        ("one event of a stream", f"{LARGEST_EVENT_BYTES // MIB} MiB, {MOST_CHOICES} choices"),
        (
            "answer to a question outside the load",
            f"{LARGEST_ANSWER_BYTES // MIB} MiB, a list of models {MODELS_BYTES // MIB} MiB, a Prometheus page {PAGE_BYTES // MIB} MiB",
        ),
        ("file of prompts, Mooncake or Azure trace", f"{MOST_BYTES // MIB} MiB, {MOST_LINE_BYTES // MIB} MiB a line"),
        ("foreign result file", f"{LARGEST_FILE // GIB} GiB"),
        ("run.json, point.json, launch.json, replicas.jsonl", f"{LARGEST_DOCUMENT_BYTES // MIB} MiB"),
        ("line of requests.jsonl and samples.jsonl", f"{LONGEST_LINE_BYTES // MIB} MiB"),
        ("engine's log, to be searched", f"{READ_BYTES // MIB} MiB, {LINE_BYTES // KIB} KiB a line; what is left out is counted"),
    ],
)
def test_limits_are_those_of_the_code(row, said):
    assert f"| {row} | {said} |" in PAGE
