"""The site of these pages, made offline by Sphinx: `sphinx-build -W -n -c docs . site`.

The pages are plain Markdown that a code host shows as well: no page holds a directive. docs/index.md sorts them, and its lists become the
navigation. The source folder is the repository, so that links to README.md, CHANGELOG.md and examples are links within the site.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "ixbench"
author = "the authors of ixbench"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/*.md", "README.md", "CHANGELOG.md", "SECURITY.md", "plugins*/README.md", "examples/*/README.md"]
myst_heading_anchors = 4
nitpicky = True
html_theme = "furo"
html_title = "ixbench"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_additional_pages = {"index": "to_index.html"}
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["tables.css"]
smartquotes = False  # numbers, flags and quotes stay as they are typed

_SECTION = re.compile(r"^## (?P<caption>.+?)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_LISTED = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<path>[^)#]+)\.md\)", re.MULTILINE)


def navigation(index: str) -> str:
    """Return what makes the navigation: a hidden table of contents for each section of docs/index.md, of the pages in its list."""
    parts = []
    for section in _SECTION.finditer(index):
        pages = [f"{page['title']} <{page['path']}>" for page in _LISTED.finditer(section["body"])]
        parts += ["", "```{toctree}", ":hidden:", f":caption: {section['caption']}", *pages, "```", ""]
    return "\n".join(parts)


def _add_navigation(_app: Sphinx, name: str, source: list[str]) -> None:
    if name == root_doc:
        source[0] += navigation(source[0])


def setup(app: Sphinx) -> None:
    """Ask to be told of each page before it is read."""
    app.connect("source-read", _add_navigation)
