"""docs/corpus.md tells what the code generates now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_corpus", DOCS / "make_corpus.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert (DOCS / "corpus.md").read_text(encoding="utf-8") == made.page(), "run `python docs/make_corpus.py`"
