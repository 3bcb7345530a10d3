"""`ixbench new`: what is refused, and what is written into a folder."""

from __future__ import annotations

import ast
import os
import stat
import tomllib

import pytest

from ixbench.cli.main import main
from ixbench.cli.new import KINDS as SHOWN
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.run.new_plugin import KINDS, LONGEST_NAME, new_plugin, plugin_files, write_plugin


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(capsys, *words):
    code = main(["new", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    "name", ["", "Turbo", "1st", "a-b", "a.b", "../up", "/abs", "a/b", "a b", "class", "match", "_a", "a_", "a__b", "x" * 25, "é", "a\n"]
)
def test_a_name_that_no_module_can_have_is_refused(name, here):
    with pytest.raises(InputError) as caught:
        new_plugin("adapter", name, load_host())
    (fault,) = caught.value.faults
    assert str(fault).startswith(f"new: NAME: {name!r} cannot name a module and an entry point; allowed: a word of lower-case letters")
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("adapter", "vllm", "'vllm' is taken by plugin vllm (ixbench "),
        ("reporter", "vllm", "'vllm' is taken by plugin vllm (ixbench "),
        ("reporter", "ladder", "'ladder' is taken by plugin builtin (ixbench "),
        ("workload", "fixed", "'fixed' is taken by plugin builtin (ixbench "),
        ("collector", "host", "'host' is taken by plugin builtin (ixbench "),
        ("adapter", "builtin", "'builtin' is taken by plugin builtin (ixbench "),
        ("adapter", "plugins", "a package ixbench_plugins is installed already"),
    ],
)
def test_a_name_that_is_taken_is_refused(kind, name, words):
    with pytest.raises(InputError) as caught:
        new_plugin(kind, name, load_host())
    assert str(caught.value).startswith(f"new: NAME: {words}")


def test_a_name_of_another_kind_is_free():
    assert new_plugin("adapter", "ladder", load_host()).package == "ixbench_ladder"


def test_the_kinds_are_those_of_the_help():
    assert tuple(KINDS) == SHOWN


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_stays_in_its_folder(kind, here, capsys):
    code, out, err = new(capsys, kind, "my_turbo", "deep/er")
    assert (code, err) == (0, "")
    written = {str(path.relative_to(here / "deep/er")) for path in (here / "deep/er").rglob("*") if path.is_file()}
    assert {
        "pyproject.toml",
        "README.md",
        "ixbench_my_turbo/__init__.py",
        "ixbench_my_turbo/options.py",
        "ixbench_my_turbo/py.typed",
    } <= written
    assert {f"deep/er/{name}" for name in written} == set(out.splitlines()[:-2])
    assert out.splitlines()[-1] == "next: cd deep/er && pip install -e '.[test]' && ixbench plugins && pytest"
    project = tomllib.loads((here / "deep/er/pyproject.toml").read_text())["project"]
    assert (project["name"], project["dependencies"]) == ("ixbench-my-turbo", ["ixbench"])
    assert project["entry-points"] == {"ixbench": {"my_turbo": "ixbench_my_turbo"}}


def test_the_folder_is_named_after_the_plugin(here, capsys):
    assert new(capsys, "reporter", "weekly")[0] == 0
    assert [path.name for path in here.iterdir()] == ["weekly"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["a", "x" * LONGEST_NAME])
def test_every_name_gives_lines_that_can_be_read(kind, name):
    for path, text in plugin_files(new_plugin(kind, name, load_host())):
        assert "$" not in text.replace("{port:http}", "")
        if path.endswith(".py"):
            ast.parse(text)
            assert max(map(len, text.splitlines())) <= 140, path


@pytest.mark.parametrize("there", ["folder", "file", "link"])
def test_what_exists_is_not_written_over(there, here, capsys):
    taken = here / "taken"
    if there == "folder":
        taken.mkdir()
        (taken / "kept").touch()
    elif there == "file":
        taken.write_text("kept")
    else:
        taken.symlink_to(here / "nowhere")
    code, out, err = new(capsys, "reporter", "weekly", "taken")
    assert (code, out) == (2, "")
    assert err == "ixbench: taken: exists already, and is not written over; give another DIR\n"
    assert not (here / "nowhere").exists()
    assert there != "folder" or [path.name for path in taken.iterdir()] == ["kept"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(here, capsys):
    here.chmod(stat.S_IRUSR | stat.S_IXUSR)
    code, _, err = new(capsys, "reporter", "weekly")
    assert code == 2
    assert "cannot be written: Permission denied" in err


def test_a_path_through_a_file_is_told(here, capsys):
    (here / "file").touch()
    code, _, err = new(capsys, "reporter", "weekly", "file/below")
    assert (code, err) == (2, "ixbench: file/below: cannot be written: Not a directory; give another DIR\n")


def test_nothing_is_left_where_the_disk_refuses(here, monkeypatch):
    from ixbench.run import new_plugin as module

    def full(folder, relative, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_plugin(new_plugin("reporter", "weekly", load_host()), here / "made")
    assert list(here.iterdir()) == []


def test_wrong_arguments_are_told(capsys):
    code, _, err = new(capsys, "engine", "turbo")
    assert code == 2
    assert "argument KIND: invalid choice: 'engine'" in err
