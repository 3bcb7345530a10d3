"""What every reporter must hold to, as tests to subclass: stable bytes, nothing fetched, nothing that a name can change."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from ixbench.model.run import Artifact, ReportSettings
from ixbench.report.load import load_run
from ixbench.store.names import is_plain_name
from ixbench.testing.kit.another_process import assert_same
from ixbench.testing.kit.contract import assert_given, assert_strict, assert_taken, options_of
from ixbench.testing.kit.html import HtmlFacts, hostile_addresses
from ixbench.testing.kit.markdown import MarkdownFacts
from ixbench.testing.kit.sealed import pure
from ixbench.testing.runs import SAMPLE_QUOTES, hostile_name, sample_failure, sample_point, sample_run, too_short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ixbench.host.contracts.reporter import Reporter
    from ixbench.model.run import RunView

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, or what turns the direction of writing; tabs and line ends apart."""
_PAGES = (".html", ".htm", ".svg")


class ReporterSuite:
    """Subclass it, give it the reporter, and pytest finds the tests.

    Those of a run are tried with each entry of `options` on all of `runs()`: measured and simulated ones, one without any point, failed and
    invalid points, no price, no number of GPUs, names made to break out of wherever they are written, and two runs at once.
    """

    reporter: ClassVar[Reporter[Any]]
    options: ClassVar[Sequence[Mapping[str, Any]]] = ({},)
    """Options to try: tables as `--set` gives them."""
    takes: ClassVar[int] = 1
    """How many runs it needs at once; most take any number."""
    marks_simulated: ClassVar[bool] = True
    """Whether every file says that a run was simulated; False only for files whose format has no place for it."""

    def runs(self) -> Mapping[str, tuple[RunView, ...]]:
        """Return what to render, by a name for the test report."""
        usual = usual_run()
        unknown_gpus = sample_point("vllm-c1", speed_tok_s_user=90, rate_tok_s_gpu=None, rate_tok_s=900, gpus=None)
        found = {
            "measured": usual,
            "simulated": simulated_run(),
            "empty": replace(usual, points=(), planned=("vllm-c1",)),
            "failed": sample_run(usual.points[-1], planned=("vllm-c64",)),
            "unpriced": replace(usual, quotes=(), sku=None),
            "unknown-gpus": sample_run(unknown_gpus),
            "hostile": hostile_run(),
        }
        several = {name: self.enough(run) for name, run in found.items()}
        if self.takes == 1:
            several["two"] = (usual, replace(simulated_run(), id="20261130T070000Z-another"))
        return several

    def enough(self, run: RunView) -> tuple[RunView, ...]:
        """Return a run as often as the reporter needs runs, each under an id of its own."""
        return as_often(run, self.takes)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run the tests of a run for each of them, with each table of options."""
        assert_given(self, "reporter")
        if "runs" in metafunc.fixturenames:
            found = self.runs()
            metafunc.parametrize("runs", list(found.values()), ids=list(found))
        if "given" in metafunc.fixturenames:
            metafunc.parametrize("given", self.options, ids=[f"options{number}" for number in range(len(self.options))])

    def test_the_host_takes_it(self) -> None:
        """The reporter is what `ixbench_reporters` may return: an instance with a plain name, a summary and options."""
        assert_taken("ixbench_reporters", self.reporter)

    def test_unknown_options_are_refused(self) -> None:
        """A misspelt option is a fault; no option is needed."""
        assert_strict(self.reporter.Options)
        options_of(self.reporter.Options, {})

    def test_equal_runs_give_equal_bytes(self, runs: tuple[RunView, ...], given: Mapping[str, Any]) -> None:
        """`render` reads neither network, clock nor environment, and gives the same bytes wherever it is called."""
        assert self.rendered(runs, given), "render() gave no file"

    def test_the_files_are_the_same_in_every_process(self) -> None:
        """No file depends on the order of a set or on the day: whoever reports the same run gets the same bytes, next year too."""
        assert_same("file", digests, self.reporter, tuple(map(dict, self.options)), self.takes)

    def test_files_are_named_after_the_reporter(self, runs: tuple[RunView, ...], given: Mapping[str, Any]) -> None:
        """Each file has a plain name of its own that begins with the reporter's."""
        files = [artifact.name for artifact in self.rendered(runs, given)]
        assert len(set(files)) == len(files), f"two files share a name: {', '.join(files)}"
        for name in files:
            assert is_plain_name(name), f"{name!r} is no plain file name"
            assert re.match(rf"{re.escape(self.reporter.name)}[.-]", name), f"{name} does not begin with the reporter's name"

    def test_nothing_is_fetched(self, runs: tuple[RunView, ...], given: Mapping[str, Any]) -> None:
        """Pages are whole: a reader without a network sees all of them. Links to follow are no fetches."""
        for name, text in self._texts(runs, given, _PAGES).items():
            fetched = HtmlFacts.of(text).fetched
            assert fetched == [], f"{name} fetches {', '.join(fetched)}"

    def test_names_are_escaped(self, given: Mapping[str, Any]) -> None:
        """Titles, labels and texts of failures are shown as they are, and are neither markup, nor terminal codes, nor further rows."""
        for name, text in self._texts(self.enough(hostile_run()), given).items():
            if name.endswith((*_PAGES, ".md")):
                found = MarkdownFacts.of(text) if name.endswith(".md") else HtmlFacts.of(text)
                assert not found.injected, f"{name}: a name became markup: {found.injected}"
                assert not found.links, f"{name}: a name became a link that runs code: {found.links}"
            if not name.endswith(".json"):
                control = _CONTROLS.search(text)
                assert control is None, (
                    f"{name}: a name brought the control character {control[0]!r}; replace what str.isprintable refuses" if control else ""
                )
            self._is_well_formed(name, text)

    def test_no_link_runs_code(self, given: Mapping[str, Any]) -> None:
        """Names, sources and addresses of a run never become links that run code: what begins with `javascript:` or `data:` is no link."""
        for number in range(len(hostile_addresses(""))):
            run = hostile_run(partial(_address, number))
            for name, text in self._texts(self.enough(run), given, (*_PAGES, ".md")).items():
                found = MarkdownFacts.of(text) if name.endswith(".md") else HtmlFacts.of(text)
                assert not found.links, (
                    f"{name}: links to what runs code: {found.links}; link what begins with https:// or http://, show the rest"
                )

    def test_data_is_well_formed(self, runs: tuple[RunView, ...], given: Mapping[str, Any]) -> None:
        """JSON has no NaN, and every row of a CSV, and of a table in Markdown, has as many cells as its head."""
        for name, text in self._texts(runs, given).items():
            self._is_well_formed(name, text)

    def test_a_simulated_run_says_so(self, given: Mapping[str, Any]) -> None:
        """Whoever gets one of the files alone must see that nothing was measured."""
        if not self.marks_simulated:
            pytest.skip("the format has no place for it")
        for name, text in self._texts(self.enough(simulated_run()), given).items():
            assert "simulated" in text.lower(), f"{name} does not say that the run was simulated"

    def test_a_run_folder_is_rendered(self, ixbench_measured_run: Path, ixbench_simulated_run: Path, given: Mapping[str, Any]) -> None:
        """Real run folders, with records on disk, are rendered; reading these is all that a reporter may do with files."""
        for folder in (ixbench_measured_run, ixbench_simulated_run):
            assert self.rendered(self.enough(load_run(folder)), given, files=False), "render() gave no file"

    def rendered(self, runs: tuple[RunView, ...], given: Mapping[str, Any], *, files: bool = True) -> tuple[Artifact, ...]:
        """Return what the reporter makes of runs, having seen that rendering is pure.

        :param files: whether it may not read files either.
        """
        options = options_of(self.reporter.Options, given)
        made = pure("render()", lambda: _files(self.reporter.render(runs, options)), files=files)
        for artifact in made:
            if not isinstance(artifact, Artifact):
                pytest.fail(f"render() gave a {type(artifact).__name__}, which is no Artifact; give [Artifact(name=..., content=...)]")
            assert isinstance(artifact.content, str | bytes), f"the content of {artifact.name} is neither text nor bytes"
        return made

    def _texts(self, runs: tuple[RunView, ...], given: Mapping[str, Any], ends: tuple[str, ...] = ("",)) -> dict[str, str]:
        """Return the files that are text, by name."""
        found: dict[str, str] = {}
        for artifact in self.rendered(runs, given):
            if artifact.name.endswith(ends):
                try:
                    found[artifact.name] = artifact.content if isinstance(artifact.content, str) else artifact.content.decode()
                except UnicodeDecodeError:
                    continue
        return found

    def _is_well_formed(self, name: str, text: str) -> None:
        if name.endswith(".json"):
            try:
                json.loads(text, parse_constant=lambda constant: pytest.fail(f"{name} holds {constant}, which JSON does not have"))
            except json.JSONDecodeError as error:
                raise AssertionError(f"{name} is no JSON: {error}") from None
        elif name.endswith(".csv"):
            rows = list(csv.reader(io.StringIO(text), strict=True))
            assert len({len(row) for row in rows}) <= 1, f"{name}: rows differ in their number of cells"
        elif name.endswith(".md"):
            broken = MarkdownFacts.of(text).broken
            assert not broken, f"{name}: a table does not hold together: {'; '.join(broken)}"


def _address(number: int, what: str) -> str:
    return hostile_addresses(what)[number]


def _files(made: object) -> tuple[Any, ...]:
    """Return what `render` made, having seen that it can be gone through."""
    if not isinstance(made, Iterable):
        pytest.fail(f"render() returned {made!r}; it returns or yields Artifacts")
    return tuple(made)


def as_often(run: RunView, takes: int) -> tuple[RunView, ...]:
    """Return a run as often as it is needed, each under an id of its own."""
    return (run, *(replace(run, id=f"{run.id}-{number}") for number in range(2, takes + 1)))


def digests(reporter: Reporter[Any], tables: Sequence[Mapping[str, Any]], takes: int) -> dict[str, str]:
    """Return a hash of each file that a reporter makes of the kit's runs with each table of options, by the names of all three."""
    found = {}
    for number, table in enumerate(tables):
        for run, view in (("measured", usual_run()), ("simulated", simulated_run()), ("hostile", hostile_run())):
            for artifact in reporter.render(as_often(view, takes), options_of(reporter.Options, table)):
                content = artifact.content.encode() if isinstance(artifact.content, str) else artifact.content
                found[f"{artifact.name} of the {run} run with options{number}"] = hashlib.sha256(content).hexdigest()
    return found


def usual_run() -> RunView:
    """Return a measured run: a curve of three points, one that is invalid and one whose engine died."""
    return sample_run(
        sample_point("vllm-c1", speed_tok_s_user=90, rate_tok_s_gpu=900, concurrency=1),
        sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=4000, concurrency=8),
        sample_point("vllm-c16", speed_tok_s_user=40, rate_tok_s_gpu=6000, concurrency=16),
        sample_point("vllm-c32", speed_tok_s_user=30, rate_tok_s_gpu=7000, concurrency=32, successes=9, verdict=too_short(9)),
        sample_point("vllm-c64", speed_tok_s_user=None, rate_tok_s_gpu=None, concurrency=64, failure=sample_failure()),
        planned=("vllm-c1", "vllm-c8", "vllm-c16", "vllm-c32", "vllm-c64", "vllm-c128"),
    )


def simulated_run() -> RunView:
    """Return a run that no engine made."""
    points = (
        sample_point("vllm-c1", speed_tok_s_user=90, rate_tok_s_gpu=900, concurrency=1, evidence="simulated"),
        sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=4000, concurrency=8, evidence="simulated"),
    )
    return sample_run(*points)


def hostile_run(name: Callable[[str], str] = hostile_name) -> RunView:
    """Return a run of names that try to break out of wherever they are written.

    :param name: makes each of them, from a word that tells where it stands.
    """
    given = (
        "model",
        "precision",
        "engine",
        "engine_version",
        "image",
        "deployment",
        "workload",
        "preset",
        "corpus",
        "hardware",
        "spec_method",
    )
    known: dict[str, Any] = {field: name(field) for field in given} | {"settings": {"setting": name("setting")}}
    argv = ["serve", name("argument")]
    known["provenance"] = {"launch": "vllm", "date": "2026-11-30", "argv": argv, "recipe": name("recipe"), "notes": [name("note")]}
    failure = replace(sample_failure(name("cause")), fix=name("fix"), evidence=(name("evidence"),))
    address = {"url": name("url")}
    return sample_run(
        sample_point("vllm-c1", speed_tok_s_user=90, rate_tok_s_gpu=900, **known),
        sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=4000, **known),
        sample_point("vllm-c64", speed_tok_s_user=None, rate_tok_s_gpu=None, failure=failure, **known),
        title=name("title"),
        report=ReportSettings(rungs=(75.0,), primary=75.0),
        quotes=(replace(SAMPLE_QUOTES[0], label=name("label"), source=name("source")),),
        versions=MappingProxyType({"ixbench": name("version")}),
        campaign=MappingProxyType({"schema": 1, "title": name("title"), "deployment": [{"engine": "endpoint"} | address]}),
        launches=MappingProxyType(
            {"vllm": {"id": "vllm", "engine": name("engine"), "image": name("image"), "notes": [name("note")]} | address}
        ),
        notes=(name("missing"),),
    )
