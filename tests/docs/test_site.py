"""The site is made without a warning and needs nobody: no page of it loads anything from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADING = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
}
LIMIT_S = 250
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("sphinx") is None or find_spec("myst_parser") is None or find_spec("furo") is None:
        pytest.skip("the extra 'docs' is not installed")
    out = tmp_path_factory.mktemp("site")
    blocked = tmp_path_factory.mktemp("blocked")
    (blocked / "sitecustomize.py").write_text(
        "import socket\n\n\ndef refuse(*_):\n    raise RuntimeError('the site wants the network')\n\n\nsocket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-n",
        "-c",
        "docs",
        "-d",
        str(out / "cache"),
        ".",
        str(out / "site"),
    ]
    env = os.environ | {"PYTHONPATH": str(blocked)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return out / "site"


class Loads(HTMLParser):
    """What a page fetches when it is opened, and where its links lead."""

    def __init__(self):
        super().__init__()
        self.fetched, self.links = [], []

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        if tag == "link" and given.get("rel") in {"stylesheet", "preload", "icon", "preconnect", "dns-prefetch"}:
            self.fetched.append(given.get("href", ""))
        if tag in LOADING:
            self.fetched.append(given.get(LOADING[tag], ""))
        if tag == "a":
            self.links.append(given.get("href", ""))


def read(page):
    found = Loads()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def test_no_page_loads_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        assert [url for url in read(page).fetched if re.match(r"(https?:)?//", url)] == [], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_every_link_within_the_site_leads_to_a_file(site):
    for page in site.rglob("*.html"):
        for url in read(page).links:
            path = url.partition("#")[0].partition("?")[0]
            if path and not re.match(r"[a-z]+:", path):
                assert (page.parent / path).resolve().exists(), f"{page.relative_to(site)}: {url}"


def test_tables_have_their_style(site):
    assert "_static/tables.css" in " ".join(read(site / "docs" / "metrics.html").fetched)
    assert "vertical-align: top" in (site / "_static" / "tables.css").read_text(encoding="utf-8")


def test_every_page_stands_in_the_navigation(site):
    shown = (site / "docs" / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        if page.name != "index.md":
            assert f'href="{page.stem}.html"' in shown, page.name
