"""Help texts are kept between runs, for the build that printed them and no other."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from ixbench.launch.help_cache import HelpCache, help_key
from ixbench.model.deployment import EnvVar


def variables(**values):
    return {name: EnvVar(value=value, reason="", origin="") for name, value in values.items()}


def key(*command, env=None, image_id=None, starts_images=False):
    return help_key(command, variables(**(env or {})), runtime="r", image_id=image_id, starts_images=starts_images)


@pytest.fixture
def program(tmp_path):
    """Return a script of a virtual environment."""
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    path = tmp_path / "venv" / "bin" / "engine"
    interpreter = path.with_name("python")
    interpreter.symlink_to(sys.executable)
    path.write_text(f"#!{interpreter}\nprint('--flag')\n")
    path.chmod(0o755)
    return path


def touch(path, seconds):
    moment = time.time() + seconds
    os.utime(path, (moment, moment))


def test_a_text_is_found_again(tmp_path):
    cache = HelpCache(folder=tmp_path / "a" / "b")
    assert cache.get("k") is None
    cache.put("k", "--flag\n--ümlaut\n")
    assert cache.get("k") == "--flag\n--ümlaut\n"
    assert (cache.get(None), cache.get("other")) == (None, None)
    cache.put(None, "text")
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["k"]


def test_a_file_that_is_damaged_or_old_is_none(tmp_path):
    cache = HelpCache(folder=tmp_path)
    cache.put("k", "text")
    (tmp_path / "k").write_text((tmp_path / "k").read_text() + "more")
    assert cache.get("k") is None
    (tmp_path / "k").write_bytes(b"\xff\xfe")
    assert cache.get("k") is None
    cache.put("k", "text")
    touch(tmp_path / "k", -31 * 86_400)
    assert cache.get("k") is None


def test_a_folder_that_cannot_be_made_costs_nothing(tmp_path):
    (tmp_path / "file").touch()
    HelpCache(folder=tmp_path / "file" / "help").put("k", "text")


def test_the_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert HelpCache().folder == tmp_path / "ixbench" / "help"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert HelpCache().folder == Path.home() / ".cache" / "ixbench" / "help"


def test_a_user_without_a_home_keeps_nothing(monkeypatch):
    def homeless():
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    cache = HelpCache()
    cache.put("k", "text")
    assert (cache.folder, cache.get("k")) == (None, None)


def test_another_build_has_another_key(program):
    first = key(str(program), "--help")
    assert first is not None
    assert key(str(program), "--help") == first
    assert key(str(program), "--help=all") != first
    assert key(str(program), "--help", env={"MODE": "fast"}) != first
    touch(program, 5)
    second = key(str(program), "--help")
    assert second != first
    (program.parents[1] / "lib" / "python3.11" / "site-packages" / "engine-2.dist-info").mkdir()
    touch(program.parents[1] / "lib" / "python3.11" / "site-packages", 9)
    assert key(str(program), "--help") not in {first, second}


def test_what_a_variable_names_counts_too(program, tmp_path):
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nexec "$ENGINE"\n')
    wrapper.chmod(0o755)
    first = key(str(wrapper), env={"ENGINE": str(program)})
    touch(program, 5)
    assert key(str(wrapper), env={"ENGINE": str(program)}) != first


def test_secrets_are_no_part_of_it(program):
    assert key(str(program), env={"HF_TOKEN": "one"}) == key(str(program), env={"HF_TOKEN": "two"})


def test_an_image_is_known_by_its_id(program):
    first = key("engine", "--help", image_id="sha256:a", starts_images=True)
    assert first not in {None, key("engine", "--help", image_id="sha256:b", starts_images=True)}
    assert key(str(program), "--help", image_id=None, starts_images=True) is None


def test_a_command_that_is_not_there_has_none(tmp_path):
    assert key(str(tmp_path / "absent")) is None
    assert key("no-such-engine") is None
