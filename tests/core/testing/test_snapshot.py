"""A snapshot compares byte for byte and is only written on request."""

from __future__ import annotations

import pytest

from ixbench.model.launch import Identity
from ixbench.testing.snapshot import UPDATE, assert_snapshot


def test_written_on_request_then_equal_then_different(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "x.json"
    monkeypatch.setenv(UPDATE, "1")
    assert_snapshot(Identity(tensor_parallel=8), path)
    monkeypatch.delenv(UPDATE)
    assert_snapshot(Identity(tensor_parallel=8), path)
    with pytest.raises(AssertionError, match=r"x\.json differs"):
        assert_snapshot(Identity(tensor_parallel=4), path)


def test_a_missing_snapshot_is_no_pass(tmp_path, monkeypatch):
    monkeypatch.delenv(UPDATE, raising=False)
    with pytest.raises(AssertionError, match="no such snapshot"):
        assert_snapshot({}, tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()
