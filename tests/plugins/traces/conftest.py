"""Writes files of lines."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def write(tmp_path):
    """Return a maker of files from lines: values are written as JSON, text as it is."""

    def make(*lines, name="trace.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return path

    return make
