"""The run folder: its name, header, lock, and what is left of it after kill -9."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from ixbench.host.source import PluginSource, failure
from ixbench.model.errors import InputError
from ixbench.model.run import ReportSettings
from ixbench.model.secrets import Redactor
from ixbench.store.encode import LARGEST_DOCUMENT_BYTES
from ixbench.store.folder import RunFolder, RunReader, find_newest
from ixbench.store.header import ClientFacts, RunHeader, read_header
from ixbench.store.machine import machine, versions
from ixbench.store.point import is_sealed
from ixbench.testing.runs import SAMPLE_QUOTES, SAMPLE_SKU, sample_point

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 30, 6, 45, 1, 999, tzinfo=UTC)
HEADER = RunHeader(
    title="Model 7B on MI355X",
    started="2026-11-30T06:45:01Z",
    planned=("b-c1", "b-c2", "a-c1"),
    campaign_hash="abc",
    campaign={"title": "Model 7B on MI355X", "deployment": [{"engine": "endpoint", "url": "http://h:1"}]},
    report=ReportSettings(rungs=(10.0, 20.5), scope=("vllm", "atom"), axis="p90"),
    limits={"errors": 0.05},
    quotes=SAMPLE_QUOTES,
    sku=SAMPLE_SKU,
    machine={"cpus": 2},
    versions={"ixbench": "0.1.0"},
    plugins=({"name": "builtin", "distribution": "ixbench", "version": "0.1.0"},),
    client=ClientFacts(floor_s=0.0005),
)


def created(results, **given) -> Path:
    with create(results, **given) as folder:
        return folder.path


def create(results, *, now=NOW, header=HEADER, redactor=None) -> RunFolder:
    return RunFolder.create(results, slug="model", now=now, header=header, redactor=redactor or Redactor())


def test_a_folder_is_named_by_utc_and_slug_and_a_clash_gets_a_number(tmp_path):
    berlin = NOW.astimezone(timezone(timedelta(hours=1)))
    with create(tmp_path / "new" / "results", now=berlin) as first, create(tmp_path / "new" / "results") as second:
        assert first.path == tmp_path / "new" / "results" / "20261130T064501Z-model"
        assert second.path.name == "20261130T064501Z-model-2"
        assert first.id == "20261130T064501Z-model"


def test_the_header_comes_back_as_it_went_in(tmp_path):
    with create(tmp_path) as folder:
        assert folder.header() == HEADER
        assert next(iter(json.loads((folder.path / "run.json").read_text()))) == "format"
        folder.write_header(replace(HEADER, title="other"))
        folder.note_resumed(NOW, ())
    assert read_header(folder.path) == replace(HEADER, title="other", resumed=("2026-11-30T06:45:01Z",))


def test_what_could_not_be_loaded_is_kept_once_however_often_a_run_is_taken_up(tmp_path):
    first, second = (failure(PluginSource(plugin=name, distribution="lab", version="1.0"), None, "broken") for name in ("heat", "noise"))
    with create(tmp_path, header=replace(HEADER, plugin_failures=(first,))) as folder:
        folder.note_resumed(NOW, (first, second))
        folder.note_resumed(NOW, ())
        assert folder.header().plugin_failures == (first, second)


def test_secrets_do_not_reach_the_header(tmp_path):
    campaign = {
        "deployment": [
            {"url": "http://bob:pass-word@h:1", "env": {"HF_TOKEN": "hf_abcdefgh"}, "api_key_env": "MY_KEY", "note": "hunter2-hunter2"}
        ]
    }
    campaign["headers"] = {"X-Plain": "also-hidden"}
    with create(tmp_path, header=replace(HEADER, campaign=campaign), redactor=Redactor(["hunter2-hunter2"])) as folder:
        folder.write_header(replace(folder.header(), title="tried hunter2-hunter2"))
    everything = (folder.path / "run.json").read_text()
    for secret in ("pass-word", "hf_abcdefgh", "hunter2", "also-hidden"):
        assert secret not in everything
    assert "MY_KEY" in everything


@pytest.mark.parametrize("name", ["../up", "a/b", "", "."])
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    with create(tmp_path / "results") as folder:
        for place in (folder.start_point, folder.launch_folder):
            with pytest.raises(ValueError, match="is no"):
                place(name)
        for read in (folder.result, folder.records, folder.samples):
            with pytest.raises(InputError, match="is no point id"):
                read(name)


def test_a_results_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    for results in (tmp_path / "file", tmp_path / "file" / "under"):
        with pytest.raises(InputError, match=r"is a file, or lies under one.*--results"):
            create(results)
    with pytest.raises(InputError, match="is a file"):
        find_newest(tmp_path / "file", "abc")


def test_a_results_folder_that_cannot_be_written(tmp_path):
    mount = tmp_path / "fixed"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(mount)], capture_output=True, check=False).returncode:
        pytest.skip("a read-only file system cannot be mounted here")
    try:
        with pytest.raises(InputError, match="cannot be written: Read-only file system"):
            create(mount / "results")
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_the_newest_folder_of_the_campaign_is_found(tmp_path):
    assert find_newest(tmp_path / "absent", "abc") is None
    for days, hash_ in ((0, "abc"), (1, "abc"), (2, "other")):
        now = NOW + timedelta(days=days)
        create(tmp_path, now=now, header=replace(HEADER, started=f"{now:%Y-%m-%dT%H:%M:%SZ}", campaign_hash=hash_)).close()
    (tmp_path / "20270101T000000Z-no-header").mkdir()
    (tmp_path / "20270102T000000Z-broken").mkdir()
    (tmp_path / "20270102T000000Z-broken" / "run.json").write_text("{")
    (tmp_path / "a-file").write_text("x")
    assert find_newest(tmp_path, "abc").name == "20261201T064501Z-model"
    assert find_newest(tmp_path, "unknown") is None


def test_of_several_folders_of_one_second_the_last_is_the_newest(tmp_path):
    for _ in range(11):
        create(tmp_path).close()
    assert find_newest(tmp_path, "abc").name.endswith("-model-11")


def test_what_is_sealed_and_what_remains(tmp_path):
    with create(tmp_path) as folder:
        assert folder.sealed() == ()
        for name in ("extra-c1", "a-c1", "b-c1"):
            with folder.start_point(name) as writer:
                writer.seal(sample_point(name, speed_tok_s_user=50, rate_tok_s_gpu=1000))
        folder.start_point("b-c2").close()
        assert folder.sealed() == ("b-c1", "a-c1", "extra-c1")
        assert folder.remaining() == ("b-c2",)


def test_a_folder_that_is_no_run_says_where_runs_are(tmp_path):
    with pytest.raises(InputError, match=r"no run folder: it has no run\.json; give a folder that `ixbench run` made"):
        RunReader(tmp_path)
    create(tmp_path).close()
    with pytest.raises(InputError, match=r"for instance .*20261130T064501Z-model"):
        RunReader(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no run.json"),
        ('{"format": 99}', "use a newer ixbench"),
        ('{"format": 1, "title": 3}', "is no run.json"),
        ('{"format": 1, "campaign": ' + "[" * 100_000, "is no run.json"),
        (" " * (LARGEST_DOCUMENT_BYTES + 1), "is larger than 64 MiB"),
    ],
)
def test_a_broken_header_is_one_sentence(tmp_path, content, said):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=said) as caught:
        read_header(tmp_path)
    assert "\n" not in str(caught.value)


HOLD = """
import sys, time
from pathlib import Path
from ixbench.model.secrets import Redactor
from ixbench.store.folder import RunFolder
folder = RunFolder.take_up(Path(sys.argv[1]), redactor=Redactor())
print("held", flush=True)
time.sleep(60)
"""


def test_two_processes_cannot_run_one_folder_and_a_dead_one_does_not_hold_it(tmp_path):
    path = created(tmp_path)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=rf"process {holder.pid} is running this folder") as caught:
            RunFolder.take_up(path, redactor=Redactor())
        assert "\n" not in str(caught.value)
        assert RunReader(path).header() == HEADER
    finally:
        holder.kill()
        holder.communicate()
    RunFolder.take_up(path, redactor=Redactor()).close()


WRITE = """
import sys
from pathlib import Path
from ixbench.model.record import Chunks, RequestRecord
from ixbench.model.secrets import Redactor
from ixbench.store.folder import RunFolder
from ixbench.testing.runs import sample_point

with RunFolder.take_up(Path(sys.argv[1]), redactor=Redactor()) as folder:
    print("ready", flush=True)
    for point_id in folder.remaining():
        with folder.start_point(point_id) as writer:
            for number in range(400):
                events = Chunks.of((number * 1000 + event, "text", 1, 200) for event in range(20))
                writer.record(RequestRecord(req_id=f"r{number}", phase="profile", session_id="s", tree_id="t", lane=0, chunks=events))
                if number % 7 == 0:
                    writer.flush()
            writer.seal(sample_point(point_id, speed_tok_s_user=50, rate_tok_s_gpu=1000))
print("done", flush=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_kill_9_at_any_moment_loses_at_most_the_point_in_flight(tmp_path, seed):
    planned = tuple(f"p-c{number}" for number in range(6))
    path = created(tmp_path, header=replace(HEADER, planned=planned))
    random_ = random.Random(seed)
    finished: set[str] = set()
    for attempt in range(100):
        process = subprocess.Popen([sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(random_.uniform(0.0, 0.02 * (1 + attempt)))  # ever longer: a busy machine gets through in the end
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate()
        reader = RunReader(path)
        sealed = set(reader.sealed())
        assert finished <= sealed
        finished = sealed
        for name in planned:
            records = reader.records(name) if (path / "points" / name).is_dir() else ()
            assert [record.req_id for record in records] == [f"r{number}" for number in range(len(records))]
            assert all(len(record.chunks) == 20 for record in records)
            if is_sealed(path / "points" / name):
                assert len(records) == 400
                assert reader.result(name).id == name
        if "done" in said:
            break
    else:
        pytest.fail("a hundred attempts did not finish six points: resuming loses work")
    assert finished == set(planned)


def test_the_machine_and_versions_are_facts_without_names():
    facts = machine()
    assert facts["cpus"] == os.cpu_count()
    assert facts["memory_bytes"] > 2**20
    assert not {"user", "host", "hostname", "node"} & set(facts)
    assert {"ixbench", "python", "numpy"} <= set(versions())
