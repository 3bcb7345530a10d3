"""Pipes, devices, folders and links where files should lie: nothing waits for them, reads them without end, or writes through them."""

from __future__ import annotations

import contextlib
import io
import os
import shutil

import pytest

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.launch.record import LaunchRecord
from ixbench.model.errors import InputError
from ixbench.model.launch import LaunchPlan
from ixbench.model.secrets import Redactor
from ixbench.store.encode import LARGEST_DOCUMENT_BYTES, write_atomic
from ixbench.store.folder import find_newest
from ixbench.store.index import read_indexed
from ixbench.store.lock import FolderLock
from ixbench.store.point import PointWriter
from ixbench.testing.folders import write_sample_run

pytestmark = pytest.mark.timeout(60)

POINT = "points/vllm-c1"
READ = ("run.json", *(f"{POINT}/{name}" for name in ("point.json", "requests.jsonl", "samples.jsonl", "chunks.bin", "replicas.jsonl")))


def fifo(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def device(path):
    path.symlink_to("/dev/zero")


def circle(path):
    path.symlink_to(path.name)


KINDS = (fifo, folder, device, circle)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("whole") / "results", load_host(), requests=4, chunks=2)


@pytest.fixture
def run(whole, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return shutil.copytree(whole, tmp_path / "results" / whole.name)


def put(path, kind):
    """Put something of that kind in the place of a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    kind(path)


def told(*words):
    """Return the exit code of a command, and hold that a refusal is a sentence about the file."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    assert code in {0, 1, 2, 3}, err.getvalue()
    for unforeseen in ("internal error", "the system refused something", "Traceback"):
        assert unforeseen not in err.getvalue()
    assert code != 2 or all(line.startswith("ixbench: ") for line in err.getvalue().splitlines()), err.getvalue()
    return code


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", READ)
def test_a_run_folder_with_something_else_in_the_place_of_a_file(run, whole, tmp_path, name, kind):
    put(run / name, kind)
    told("report", run, "--recompute", "--out", tmp_path / "out")
    told("report", run.parent, "--use", "history", "--out", tmp_path / "out")
    told("compare", whole, run)
    told("show", run, "vllm-c1", "--json")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [("report",), ("import", "--out", "NEW"), ("compare", "OTHER")], ids=" ".join)
def test_something_else_in_the_place_of_a_foreign_file(whole, tmp_path, words, kind):
    kind(tmp_path / "given")
    places = {"NEW": tmp_path / "new", "OTHER": whole}
    assert told(words[0], tmp_path / "given", *(places.get(word, word) for word in words[1:])) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_resume_looks_over_folders_whose_header_is_something_else(run, kind):
    put(run / "run.json", kind)
    assert find_newest(run.parent, "abc") is None


@pytest.mark.parametrize("kind", [fifo, device, circle])
def test_a_point_is_begun_in_the_place_of_something_else(tmp_path, kind):
    (tmp_path / "points").mkdir()
    kind(tmp_path / "points" / "a-c1")
    with PointWriter(tmp_path / "points" / "a-c1", Redactor()) as writer:
        assert writer.records() == ()


@pytest.mark.parametrize("kind", [*KINDS, lambda path: path.write_bytes(b'{"starts":' + b"[" * 100_000)])
def test_a_launch_is_begun_where_its_record_is_something_else(tmp_path, kind):
    kind(tmp_path / "launch.json")
    plan = LaunchPlan(engine="e", processes=(), served_model=None, url="http://127.0.0.1:1")
    record = LaunchRecord(launch_id="a", plan=plan, folder=tmp_path, redactor=Redactor())
    assert record.earlier == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_is_something_else(run, kind):
    put(run / "run.lock", kind)
    with pytest.raises(InputError, match=r"run\.lock"):
        FolderLock(run)


def test_a_file_system_without_locks_is_not_taken_for_another_run(run, monkeypatch):
    def flock(descriptor, operation):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", flock)  # there is no such file system to mount here
    with pytest.raises(InputError, match=r"cannot be locked: Function not implemented; give another --results"):
        FolderLock(run)


@pytest.mark.parametrize("name", ["run.lock", "run.json.part", f"{POINT}/point.json.part", "reports/ladder.md.part", "reports/ladder.md"])
def test_nothing_is_written_through_a_link(run, tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (run / "reports").mkdir(exist_ok=True)
    path = run / name
    path.unlink(missing_ok=True)
    path.symlink_to(victim)
    if name == "run.lock":
        with pytest.raises(InputError):
            FolderLock(run)
    elif name.endswith(".part"):
        target = path.with_suffix("")
        write_atomic(target, target.read_bytes() if target.exists() else b"ours")
    assert told("report", run) == 0
    assert victim.read_text() == "precious"


def test_reports_are_not_written_where_a_link_leads(run, tmp_path):
    (tmp_path / "home").mkdir()
    shutil.rmtree(run / "reports", ignore_errors=True)
    (run / "reports").symlink_to(tmp_path / "home")
    assert told("report", run) == 2
    assert list((tmp_path / "home").iterdir()) == []
    assert told("report", run, "--out", tmp_path / "out") == 0


def test_the_index_reads_no_header_that_no_run_writes(run, monkeypatch):
    monkeypatch.setattr("ixbench.store.index._SETTLED_NS", 0)
    with (run / "run.json").open("r+b") as file:
        file.truncate(8 * LARGEST_DOCUMENT_BYTES)
    assert read_indexed([run], lambda path: b"x", "test") == {run: b"x"}
    assert read_indexed([run], lambda path: b"y", "test") == {run: b"y"}, "nothing was kept of it"
