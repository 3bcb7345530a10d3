from __future__ import annotations

import dataclasses

import pytest

from ixbench_plugins.tiny import gguf_file
from ixbench_plugins.tiny.gguf_file import cached_model, write_model
from ixbench_plugins.tiny.model import TinyModel


def test_equal_settings_give_equal_bytes_and_other_seeds_other_ones(tmp_path):
    small = TinyModel(width=256, layers=1)
    write_model(small, tmp_path / "a.gguf")
    write_model(small, tmp_path / "b.gguf")
    write_model(dataclasses.replace(small, seed=1), tmp_path / "c.gguf")
    assert (tmp_path / "a.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()
    assert (tmp_path / "a.gguf").read_bytes() != (tmp_path / "c.gguf").read_bytes()


def test_the_model_is_made_once_and_kept_whole_or_not_at_all(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    small = TinyModel(width=256, layers=1)
    path = cached_model(small, cache)
    made = path.stat()
    assert cached_model(small, cache) == path
    assert path.stat().st_mtime_ns == made.st_mtime_ns
    other = cached_model(dataclasses.replace(small, layers=2), cache)
    assert other != path

    def fails(_model, target):
        target.write_bytes(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(gguf_file, "write_model", fails)
    with pytest.raises(OSError, match="no space"):
        cached_model(dataclasses.replace(small, seed=9), cache)
    assert sorted(cache.iterdir()) == sorted([path, other])


def test_the_cache_is_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cached_model(TinyModel(width=256, layers=1)).parent == tmp_path / "ixbench"
