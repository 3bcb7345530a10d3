"""All that stands on the pages is right: links lead somewhere, commands parse, Python compiles, outputs are what is printed now."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import shlex
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from ixbench.campaign.read import read_campaign
from ixbench.cli.main import all_commands, top_parser
from ixbench.cli.parser import command_parser, parse
from ixbench.host.load import load_host
from ixbench.model.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("plugins*/README.md"),
        *ROOT.glob("examples/*/README.md"),
    ]
)
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<content>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]+\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,4} (?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    page: Path
    number: int
    language: str
    content: str
    before: str
    """The paragraph above the fence, such as a comment that says what the block is."""

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}-{self.number}"


def blocks(*languages):
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for number, match in enumerate(_FENCE.finditer(text)):
            if not languages or match["language"] in languages:
                before = text[: match.start()].rstrip("\n").rpartition("\n\n")[2]
                found.append(Block(page=page, number=number, language=match["language"], content=match["content"], before=before))
    return found


def prose(page):
    """Return the text of a page without its blocks and without inline code that looks like a link."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page):
    return [match["target"] for match in _LINK.finditer(prose(page))]


def anchors(page):
    """Return the anchors of a page's headings: lower case, spaces to dashes, without punctuation; a second equal one gets a number."""
    found, counts = set(), {}
    for match in _HEADING.finditer(prose(page)):
        words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", match["text"]).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
        number = counts[anchor] = counts.get(anchor, -1) + 1
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


INDEX = ROOT / "docs" / "index.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in links(page):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert file.is_relative_to(ROOT), target
        if anchor:
            assert anchor in anchors(file), target


def test_the_index_lists_every_page_once():
    listed = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", INDEX.read_text(encoding="utf-8"), re.MULTILINE)
    files = [(INDEX.parent / path).resolve() for path in listed]
    assert [file for file, count in Counter(files).items() if count > 1] == []
    assert set(files) == {page for page in PAGES if page != INDEX}


def test_the_navigation_is_that_of_the_index():
    spec = importlib.util.spec_from_file_location("conf", ROOT / "docs" / "conf.py")
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    text = conf.navigation(INDEX.read_text(encoding="utf-8"))
    captions = re.findall(r"^:caption: (.*)$", text, re.MULTILINE)
    assert captions == ["Tutorial", "How to", "Reference", "Explanation", "Project"]
    assert text.count("```{toctree}") == len(captions)
    assert len(re.findall(r"^\S.* <\S+>$", text, re.MULTILINE)) == len(PAGES) - 1


SHELL = blocks("console", "sh", "bash")
SEPARATORS = {"&&", ";", "|", "||", ">", ">>", "2>&1"}


def command_lines(text: str) -> list[list[str]]:
    """Return the words of each `ixbench` command in a shell block; continued lines are joined, comments left out."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        words: list[str] = []
        for word in [*shlex.split(line, comments=True), ";"]:
            if word in SEPARATORS:
                if words[:1] == ["ixbench"]:
                    found.append(words)
                words = []
            elif words or "=" not in word or not word.split("=")[0].isupper():
                words.append(word)
    return found


def in_prose() -> list[tuple[str, list[str]]]:
    """Return the commands in inline code; those with a placeholder, such as FILE or [--json], are left out."""
    return [
        (f"{page.name}: {code}", shlex.split(code))
        for page in PAGES
        if page.name != "CHANGELOG.md"
        for code in re.findall(r"`(ixbench [^`]+)`", prose(page))
        if not re.search(r"[A-Z]{2,}|\.\.\.|<|\||\[", code)
    ]


COMMANDS = [(f"{block.name}: {' '.join(words)}", words) for block in SHELL for words in command_lines(block.content)]
NAMED = in_prose()


@pytest.fixture(scope="module")
def commands():
    return all_commands(load_host())


def parsed(words, commands):
    _, name, *rest = words
    parser = top_parser(commands) if name.startswith("-") else command_parser(commands[name])
    arguments = [name, *rest] if name.startswith("-") else rest
    if {"--help", "--version"} & set(arguments):
        with pytest.raises(SystemExit, match=r"^0$"):
            parse(parser, arguments)
    else:
        parse(parser, arguments)


def test_there_are_commands_of_many_kinds():
    assert {words[1] for _, words in COMMANDS} >= {
        "run",
        "plan",
        "check",
        "report",
        "bench",
        "show",
        "doctor",
        "diagnose",
        "plugins",
        "import",
    }


@pytest.mark.parametrize("words", [words for _, words in COMMANDS], ids=[name for name, _ in COMMANDS])
def test_every_command_parses(words, commands):
    parsed(words, commands)


@pytest.mark.parametrize("words", [words for _, words in NAMED], ids=[name for name, _ in NAMED])
def test_every_command_in_a_sentence_parses_but_for_what_it_leaves_out(words, commands):
    problems = []
    try:
        parsed(words, commands)
    except InputError as error:
        problems = [fault.problem for fault in error.faults]
    assert [problem for problem in problems if not re.search("are required|expected", problem)] == []


def test_every_value_that_a_command_sets_is_taken(commands):
    examples = [shlex.split(example) for command in commands.values() for example in command.examples]
    taken = 0
    for words in [*examples, *(words for _, words in (*COMMANDS, *NAMED))]:
        file = next((ROOT / word for word in words[2:] if word.endswith(".toml") and (ROOT / word).is_file()), None)
        sets = [value for flag, value in pairwise(words) if flag == "--set"]
        if file is not None and sets and words[1] in {"run", "plan", "check"}:
            read_campaign(file, load_host(), overrides=sets)
            taken += 1
    assert taken >= 4


def test_a_wrong_command_would_be_found(commands):
    with pytest.raises(InputError, match="unknown flag"):
        parse(command_parser(commands["run"]), ["--resum", "x.toml"])
    assert command_lines("A=1 ixbench run a.toml && ixbench show \\\n  R P | cat  # note") == [
        ["ixbench", "run", "a.toml"],
        ["ixbench", "show", "R", "P"],
    ]


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.name)
def test_python_compiles_and_its_imports_are_there(block):
    tree = ast.parse(block.content)
    compile(tree, block.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0 or block.before.startswith("<!-- file: "), "a relative import needs a named file"
            if node.level == 0 and node.module is not None and node.module.partition(".")[0] in {"ixbench", "numpy", "pytest"}:
                module = importlib.import_module(node.module)
                for name in node.names:
                    assert hasattr(module, name.name), f"{node.module}.{name.name}"


@pytest.mark.parametrize("block", blocks("json"), ids=lambda block: block.name)
def test_json_is_json(block):
    try:
        json.loads(block.content)
    except json.JSONDecodeError:
        for line in block.content.splitlines():
            json.loads(line)


def test_every_block_says_its_language():
    known = {"toml", "python", "json", "console", "sh", "text"}
    assert [f"{block.name}: {block.language!r}" for block in blocks() if block.language not in known] == []


@pytest.fixture(scope="module")
def outputs():
    spec = importlib.util.spec_from_file_location("make_outputs", ROOT / "docs" / "make_outputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PRINTED = sorted({block.page for block in blocks("text") if block.before.startswith("<!-- output: ")})


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PRINTED, ids=lambda page: page.name)
def test_outputs_are_what_is_printed_now(page, outputs, monkeypatch):
    monkeypatch.setenv("COLUMNS", outputs.COLUMNS)
    text = page.read_text(encoding="utf-8")
    assert outputs.page(text) == text, f"run python docs/make_outputs.py docs/{page.name}"


def test_every_table_of_results_says_where_it_comes_from():
    for block in blocks("text"):
        if re.search(r"^(Ladder|Points|Costs)\b|^point .*verdict$", block.content, re.MULTILINE):
            made = block.before.startswith("<!-- output: ")
            assert made or "measured" in block.before.lower() or "simulated" in block.before.lower(), block.name
