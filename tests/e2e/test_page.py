"""`ixbench report --use page` on a run folder: one HTML file that a browser needs nothing else for, and the same as Markdown."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    return write_sample_run(tmp_path_factory.mktemp("results"), load_host())


class Tags(HTMLParser):
    """What is opened and named."""

    def __init__(self, text):
        super().__init__()
        self.opened, self.attributes = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)
        self.attributes += attrs


def test_a_run_folder_becomes_a_page(make_shell, run_folder, tmp_path):
    shell = make_shell(tmp_path)
    done = shell.run("report", str(run_folder), "--use", "page", "--set", "page.title=Ours", "--set", "page.theme=light", "--out", "shown")
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "shown").iterdir()) == ["page.html", "page.json", "page.md"]
    text = (tmp_path / "shown" / "page.html").read_text()
    found = Tags(text)
    names = [value for name, value in found.attributes if name == "id"]
    assert found.opened.count("svg") >= 2
    assert len(names) == len(set(names))
    assert not [value for name, value in found.attributes if name in {"src", "href"} and not value.startswith("#")]
    assert not re.search(r"url\(|@import", text)
    assert found.opened.count("script") == 1
    assert "<h1>Ours</h1>" in text
    assert (tmp_path / "shown" / "page.md").read_text().startswith("# Ours\n")
    again = shell.run("report", str(run_folder), "--use", "page", "--set", "page.title=Ours", "--set", "page.theme=light", "--out", "again")
    assert again.code == 0
    assert (tmp_path / "again" / "page.html").read_text() == text


def test_a_wrong_option_is_one_sentence(make_shell, run_folder, tmp_path):
    done = make_shell(tmp_path).run("report", str(run_folder), "--use", "page", "--set", "page.theme=pink", "--out", "shown")
    assert done.code == 2
    assert "--set page.theme: " in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "shown").exists()
