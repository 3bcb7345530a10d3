"""Files that a plan brings along stand in the launch's folder before anything starts."""

from __future__ import annotations

import json

import pytest

from ixbench.launch.errors import EngineError
from ixbench.launch.files import write_files
from ixbench.launch.process import port_names
from ixbench.model.launch import ProcessPlan


def test_placeholders_are_filled_in_and_json_keeps_its_braces(tmp_path):
    text = '{"master": "127.0.0.1:{port:master}", "folder": "{folder}", "empty": {}}'
    write_files({"store.json": text}, ports={"master": 4711}, folder=tmp_path)
    read = json.loads((tmp_path / "store.json").read_text())
    assert read == {"master": "127.0.0.1:4711", "folder": str(tmp_path), "empty": {}}


def test_a_file_of_an_earlier_attempt_is_replaced(tmp_path):
    (tmp_path / "store.json").write_text("old and longer")
    write_files({"store.json": "new"}, ports={}, folder=tmp_path)
    assert (tmp_path / "store.json").read_text() == "new"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "/a", "launch.json", "engine.log", "engine.log.1"])
def test_a_name_that_is_no_plain_one_of_its_own_is_refused(tmp_path, name):
    with pytest.raises(EngineError) as caught:
        write_files({name: "text"}, ports={}, folder=tmp_path)
    assert caught.value.failure.code == "bad_launch_file"
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_said_in_one_sentence(tmp_path):
    (tmp_path / "store.json").mkdir()
    with pytest.raises(EngineError, match="store\\.json could not be written: Is a directory"):
        write_files({"store.json": "text"}, ports={}, folder=tmp_path)


def test_ports_that_only_a_file_mentions_are_chosen_too():
    process = ProcessPlan(name="server", argv=("serve", "{port:http}"))
    assert port_names([process], ["{port:master} {port:http}"]) == ("master", "http")
