"""docs/run-folder.md names exactly the keys that stand in a written run folder, and its code reads one."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import get_args

import pytest

from ixbench.campaign.schema import CampaignTable
from ixbench.host.load import load_host
from ixbench.host.specs import API_VERSION
from ixbench.launch.process import start_process
from ixbench.launch.record import LAUNCH_FORMAT, LaunchRecord
from ixbench.launch.sanity import SanityAnswer
from ixbench.launch.stop import StopReport
from ixbench.measure.accuracy import JudgedAnswer
from ixbench.model.deployment import EnvVar
from ixbench.model.launch import LaunchPlan, PrepareStep, ProcessPlan
from ixbench.model.record import CHUNK_KINDS
from ixbench.model.result import POINT_FORMAT, Failure
from ixbench.model.secrets import Redactor
from ixbench.store.accuracy import ACCURACY_FORMAT, AnswerWriter
from ixbench.store.folder import RunReader
from ixbench.store.header import RUN_FORMAT
from ixbench.store.index import INDEX_FORMAT
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_accuracy

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "run-folder.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^##+ (.*?)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))
FREE = {
    *("campaign", "machine", "versions", "limits", "plugins", "metrics", "provenance", "identity.settings", "accounting.failed", "labels"),
    *("intervals.percentiles", "intervals.bootstrap", "accuracy.failed", "failed"),
}
"""Objects whose keys are the user's, the machine's or a plugin's."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("results"), load_host())


def documented(section):
    keys = re.findall(r"^\| `([^`]+)` \|", SECTIONS[section], re.MULTILINE)
    assert len(keys) == len(set(keys))
    return set(keys)


def leaves(value, path="", free=FREE):
    """Return the dotted paths of all values; of a list of objects those of its objects, with []."""
    if path in free or not isinstance(value, dict | list) or not value:
        return {path}
    if isinstance(value, list):
        return {path} if not isinstance(value[0], dict) else {leaf for item in value for leaf in leaves(item, f"{path}[]", free)}
    return {leaf for key, item in value.items() for leaf in leaves(item, f"{path}.{key}" if path else key, free)}


def parents(keys):
    return {key for key in keys if any(other.startswith((f"{key}.", f"{key}[]")) for other in keys)}


def test_every_key_of_run_json_is_documented_and_no_other(run):
    keys = documented("run.json")
    assert leaves(json.loads((run / "run.json").read_text()), free=FREE - {"metrics"}) == keys - parents(keys)


def test_every_key_of_point_json_is_documented_and_no_other(run, tmp_path):
    gated = write_sample_run(tmp_path, load_host(), accuracy=sample_accuracy(asked=10, right=9, failed={"transport": 1}))
    points = [json.loads((run / "points" / name / "point.json").read_text()) for name in ("vllm-c16", "vllm-c64")]
    points.append(json.loads((gated / "points" / "vllm-c16" / "point.json").read_text()))
    keys = documented("point.json")
    facts = {key for key in keys if key.startswith("provenance.")}
    found = set().union(*map(leaves, points))
    assert found - parents(keys - facts) == keys - facts - parents(keys - facts)
    assert {f"provenance.measurement.{key}" for key in points[0]["provenance"]["measurement"]} == facts - {"provenance.measurement"}


def test_every_key_of_launch_json_is_documented_and_no_other(tmp_path):
    env = {"HF_HOME": EnvVar(value="/models", reason="where the weights are", origin="test")}
    step = PrepareStep(script="/fix.sh", sha256="0" * 64, reason="a fix")
    process = ProcessPlan(name="server", argv=(sys.executable, "-c", "pass"), env=env)
    plan = LaunchPlan(engine="e", processes=(process,), served_model="m", prepare=(step,))
    failure = Failure(code="oom", cause="The GPU ran out of memory.", fix="Lower max_num_seqs.")
    for _ in range(2):
        record = LaunchRecord(launch_id="e-1", plan=plan, folder=tmp_path, redactor=Redactor(), failure=failure)
        started = start_process(process, inherited={}, ports={}, folder=tmp_path, log=tmp_path / "engine.log")
        record.add_process(started, process)
        record.sanity.append(SanityAnswer(prompt="2 + 2 =", expect="4", answer="4", passed=True))
        record.ended(StopReport(seconds=0.1, exit_codes={"server": started.popen.wait()}))
        record.write()
    content = json.loads((tmp_path / "launch.json").read_text())
    assert len(content["starts"]) == 2
    keys = documented("launches/<launch id>/launch.json")
    assert leaves(content, free={"identity", "ports", "runtime_facts", "processes[].env", "stop.exit_codes"}) == keys - parents(keys)


def test_every_key_of_an_accuracy_gate_is_documented_and_no_other(tmp_path):
    with AnswerWriter(tmp_path, Redactor()) as writer:
        writer.answer(JudgedAnswer(line=3, right=False, expected="42", got=None, failure="transport", error_text="no connection"))
        writer.seal(sample_accuracy(asked=10, right=9, failed={"transport": 1}))
    for name in ("accuracy.json", "answers.jsonl"):
        assert leaves(json.loads((tmp_path / name).read_text())) == documented(f"launches/<launch id>/{name}")


def test_every_key_of_the_lines_is_documented_and_no_other(run):
    for section in ("requests.jsonl", "samples.jsonl"):
        line = (run / "points" / "vllm-c8" / section).read_text().splitlines()[0]
        assert leaves(json.loads(line)) == documented(section)


def test_the_kinds_of_events_are_those_of_the_document():
    listed = re.findall(r"(\d) (\w+)", re.search(r"`kind`: (.*?) \|", SECTIONS["chunks.bin"])[1])
    assert [name for _, name in listed] == list(CHUNK_KINDS)
    assert [int(number) for number, _ in listed] == list(range(len(CHUNK_KINDS)))


def test_the_code_of_the_document_reads_the_events(run):
    (source,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    module: dict[str, object] = {}
    exec(compile(source, "docs/run-folder.md", "exec"), module)
    folder = run / "points" / "vllm-c16"
    records = RunReader(run).records("vllm-c16")
    for line, record in zip((folder / "requests.jsonl").read_text().splitlines(), records, strict=True):
        columns = module["events"](folder, line)
        assert columns["ns"].tolist() == list(record.chunks.ns)
        assert columns["tokens"].tolist() == list(record.chunks.tokens)
        assert columns["size"].tolist() == list(record.chunks.size)
        assert columns["kind"].tolist() == list(record.chunks.kind)


def test_the_tree_of_the_document_is_the_folder(run):
    named = set(re.findall(r"[\w.]+\.(?:jsonl|json|bin|lock)", TEXT.partition("## run.json")[0]))
    found = {path.name for path in run.rglob("*") if path.is_file()}
    assert found == named


def test_the_history_of_every_format_is_told_up_to_the_one_that_is_written():
    section = TEXT.partition("## Formats and their history\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| ")][1:]
    told = {}
    for file, _, form, since, changed in rows:
        told.setdefault(re.split(r"[ ,]", file)[0], []).append(int(form))
        assert re.fullmatch(r"\d+\.\d+\.\d+", since)
        assert changed
    schema = get_args(CampaignTable.model_fields["schema_"].annotation)[-1]
    newest = {
        "campaign": schema,
        "run.json": RUN_FORMAT,
        "point.json": POINT_FORMAT,
        "launch.json": LAUNCH_FORMAT,
        "accuracy.json": ACCURACY_FORMAT,
        "plugins": API_VERSION,
        "runs.sqlite": INDEX_FORMAT,
    }
    assert told == {file: list(range(1, form + 1)) for file, form in newest.items()}
