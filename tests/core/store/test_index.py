"""The index of run folders: never wrong, never in the way, and nothing is read twice that did not change."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from ixbench.host.load import load_host
from ixbench.model.errors import Fault, InputError
from ixbench.store import index
from ixbench.store.index import FILE, LOCK, index_folder, read_indexed
from ixbench.testing.folders import write_sample_run


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Keep the index apart from the user's, and take folders that were written this very moment as settled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "_SETTLED_NS", 0)
    return tmp_path / "cache" / "ixbench" / "index"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("results"), load_host())


@pytest.fixture
def folders(made, tmp_path):
    found = [tmp_path / "results" / name for name in ("a", "b", "c")]
    for folder in found:
        shutil.copytree(made, folder)
    return found


class Reader:
    """Reads a folder by its name and counts how often."""

    def __init__(self):
        self.read = []

    def __call__(self, folder):
        self.read.append(folder.name)
        if folder.name.startswith("bad"):
            raise InputError(Fault(where=str(folder), problem="is torn"))
        return f"{folder.name} holds {len(list((folder / 'points').iterdir()))} points".encode() * 50


def look(folders, kind="test 1"):
    """Return what the index gives, and which folders were read for it."""
    reader = Reader()
    found = read_indexed(folders, reader, kind)
    assert {folder: found[folder] for folder in folders} == {folder: Reader()(folder) for folder in folders}
    return reader.read


def test_nothing_is_read_twice(folders, cache):
    assert look(folders) == ["a", "b", "c"]
    assert look(folders) == []
    assert look(folders[:1]) == []
    assert (cache / FILE).is_file()
    assert cache.stat().st_mode & 0o777 == 0o700


def test_it_lies_in_the_users_cache(tmp_path, monkeypatch):
    assert index_folder() == tmp_path / "cache" / "ixbench" / "index"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert index_folder() == tmp_path / ".cache" / "ixbench" / "index"


def replaced(folder):
    """A point is written anew with as many bytes and the same time."""
    path = folder / "points" / "vllm-c1" / "point.json"
    before = path.stat()
    path.write_bytes(path.read_bytes()[:-2] + b" \n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def header_edited(folder):
    path = folder / "run.json"
    path.write_text(path.read_text().replace("MI355X", "MI300X"))


@pytest.mark.parametrize(
    "change",
    [
        replaced,
        header_edited,
        lambda folder: shutil.rmtree(folder / "points" / "vllm-c1"),
        lambda folder: shutil.copytree(folder / "points" / "vllm-c1", folder / "points" / "vllm-c2"),
        lambda folder: (folder / "points" / "vllm-c1" / "point.json").unlink(),
        lambda folder: shutil.rmtree(folder / "points"),
        lambda folder: ((folder / "launches" / "x").mkdir(parents=True), (folder / "launches" / "x" / "launch.json").write_text("{}")),
    ],
)
def test_a_folder_that_changed_is_read_again(folders, change):
    look(folders)
    change(folders[1])
    (folders[1] / "points").mkdir(exist_ok=True)
    assert look(folders) == ["b"]
    assert look(folders) == []


def test_another_folder_in_its_place_is_read(folders, tmp_path):
    look(folders)
    folders[0].rename(tmp_path / "aside")
    folders[1].rename(folders[0])
    (tmp_path / "aside").rename(folders[1])
    assert look(folders) == ["a", "b"]


def test_another_kind_is_read_anew(folders):
    look(folders)
    assert look(folders, "test 2") == ["a", "b", "c"]


def test_what_cannot_be_read_is_tried_again(folders):
    bad = folders[0].rename(folders[0].with_name("bad"))
    for _ in range(2):
        reader = Reader()
        found = read_indexed([bad, *folders[1:]], reader, "test 1")
        assert "is torn" in str(found[bad])
        assert "bad" in reader.read


def test_what_changed_a_moment_ago_is_not_kept(folders, monkeypatch):
    monkeypatch.setattr(index, "_SETTLED_NS", 10**12)
    look(folders)
    assert look(folders) == ["a", "b", "c"]


def test_folders_that_are_gone_are_forgotten(folders, cache):
    look(folders)
    shutil.rmtree(folders[0])
    header_edited(folders[1])
    look(folders[1:])
    with sqlite3.connect(cache / FILE) as database:
        paths = {Path(os.fsdecode(path)).name for (path,) in database.execute("SELECT path FROM folder")}
    database.close()
    assert paths == {"b", "c"}


def test_names_that_are_no_unicode_and_names_of_sql(folders):
    for name in (os.fsdecode(b"caf\xe9"), "'; DROP TABLE folder; --", "%", "new\nline"):
        folder = folders[0].with_name(name)
        shutil.copytree(folders[0], folder)
        folders.append(folder)
    read = [folder.name for folder in folders]

    def reader(folder):
        read.remove(folder.name)
        return os.fsencode(folder)

    for _ in range(2):
        found = read_indexed(folders, reader, "test 1")
        assert found == {folder: os.fsencode(folder) for folder in folders}
    assert read == []


def foreign_table(file):
    with sqlite3.connect(file) as database:
        database.executescript("CREATE TABLE folder (path, stamp, content); INSERT INTO folder VALUES ('x', 'y', 'z');")
    database.close()


def own_marks_without_a_table(file):
    with sqlite3.connect(file) as database:
        database.executescript("DROP TABLE folder;")
    database.close()


def later_format(file):
    with sqlite3.connect(file) as database:
        database.executescript("PRAGMA user_version = 99;")
    database.close()


def texts_in_place_of_bytes(file):
    with sqlite3.connect(file) as database:
        database.executescript("UPDATE folder SET content = CAST(X'FF41' AS TEXT);")
    database.close()


@pytest.mark.parametrize(
    "harm",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000),
        lambda file: file.write_bytes(b"no database at all" * 1000),
        lambda file: file.write_bytes(file.read_bytes()[:5000]),
        lambda file: file.unlink(),
        lambda file: (file.unlink(), foreign_table(file)),
        lambda file: file.with_name(f"{file.name}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\x01" * 600),
        own_marks_without_a_table,
        later_format,
        texts_in_place_of_bytes,
    ],
)
def test_a_broken_index_is_made_anew(folders, cache, harm):
    look(folders)
    harm(cache / FILE)
    look(folders)
    assert look(folders) == []


def test_no_damage_to_the_file_is_ever_believed(folders, cache):
    look(folders)
    whole = (cache / FILE).read_bytes()
    places = random.Random(1)
    for _ in range(400):
        broken = bytearray(whole)
        for _ in range(places.choice((1, 1, 40))):
            broken[places.randrange(len(broken))] ^= 1 << places.randrange(8)
        (cache / FILE).write_bytes(broken)
        look(folders)  # asserts that all is right


@pytest.mark.parametrize("harm", ["a file for a folder", "a folder for the file", "no home"])
def test_without_a_place_folders_are_read_all_the_same(folders, cache, harm, monkeypatch):
    cache.parent.mkdir(parents=True)
    if harm == "a file for a folder":
        cache.write_text("")
    elif harm == "a folder for the file":
        (cache / FILE / "inner").mkdir(parents=True)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", "")
        monkeypatch.setattr(Path, "home", classmethod(lambda _cls: (_ for _ in ()).throw(RuntimeError("no home"))))
    for _ in range(2):
        assert look(folders) == ["a", "b", "c"]


def test_one_that_is_held_for_long_is_not_waited_for(folders, cache, monkeypatch):
    look(folders)
    monkeypatch.setattr(index, "_WAIT_S", 0.1)
    with (cache / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert look(folders) == ["a", "b", "c"]
    assert look(folders) == []


def look_often(folders, wrong):
    """Look and break the index in turns, as a process of its own."""
    for turn in range(15):
        found = read_indexed(folders, lambda folder: folder.name.encode() * 1000, "test 1")
        if any(found[folder] != folder.name.encode() * 1000 for folder in folders):
            wrong.value += 1
        if turn % 4 == 0:
            (index_folder() / FILE).write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20)


def test_processes_share_it(folders):
    context = multiprocessing.get_context("fork")
    wrong = context.Value("i", 0)
    processes = [context.Process(target=look_often, args=(folders, wrong)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert wrong.value == 0
