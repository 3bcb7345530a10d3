"""Where ixbench keeps what may be made again."""

from __future__ import annotations

import pytest

from ixbench.api import engine, workload
from ixbench.model.user_cache import user_cache


def test_a_folder_of_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache() == tmp_path / "ixbench"
    assert user_cache("traces") == tmp_path / "ixbench" / "traces"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [None, "", "relative"])
def test_a_relative_path_does_not_count(monkeypatch, tmp_path, value):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", value or "")
    if value is None:
        monkeypatch.delenv("XDG_CACHE_HOME")
    assert user_cache("index") == tmp_path / ".cache" / "ixbench" / "index"


def test_plugins_have_it_too():
    assert engine.user_cache is workload.user_cache is user_cache
