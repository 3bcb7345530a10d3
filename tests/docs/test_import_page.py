"""docs/import.md names the schemas, the reasons for refusals and the options that the code has."""

from __future__ import annotations

import re
from pathlib import Path

from ixbench.report.import_run import UNREADABLE
from ixbench_plugins.importers import IMPORTERS
from ixbench_plugins.reporters.inferencex import InferencexOptions

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
SOURCES = [path.read_text(encoding="utf-8") for path in (ROOT / "plugins" / "ixbench_plugins" / "importers").glob("*.py")]


def test_every_reason_for_a_refusal_is_told():
    codes = set(re.findall(r'RowError\(\s*"(\w+)"', "".join(SOURCES)))
    codes |= {f"missing_{key}" for key in ("isl", "osl", "conc")} | {"bad_record", UNREADABLE}
    told = set(re.findall(r"`(\w+)`", TEXT[TEXT.index("Every row that is refused") : TEXT.index("## What is kept")]))
    assert codes == told


def test_every_importer_and_option_is_told():
    assert set(re.findall(r"^\| [^|]+ \| (\w+) \|", TEXT, re.MULTILINE)) - {"importer", "meaning"} == {
        importer.name for importer in IMPORTERS
    }
    assert set(re.findall(r"`inferencex\.(\w+)=", TEXT)) == InferencexOptions.model_fields.keys()
