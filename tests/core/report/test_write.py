"""Reporters run one by one: what they make is written in one step each, and who fails is named."""

from __future__ import annotations

import pytest

from ixbench.host.contracts.options import OptionsModel
from ixbench.host.contracts.reporter import Reporter
from ixbench.host.host import Host
from ixbench.host.specs import hookimpl
from ixbench.model.errors import Fault, InputError
from ixbench.model.run import Artifact
from ixbench.report.choose import choose_reporters
from ixbench.report.write import write_reports
from ixbench.testing.runs import sample_point, sample_run

RUN = sample_run(sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=1000))


class Options(OptionsModel):
    """Options of the reporters here."""

    top: int = 3
    """How many."""


class Made(Reporter[Options]):
    Options = Options

    def __init__(self, name, make):
        self.name = name
        self.make = make

    def render(self, runs, options):
        return self.make(runs, options)


def host_of(*reporters):
    class Plugin:
        @hookimpl
        def ixbench_reporters(self):
            return list(reporters)

    return Host.of({"acme": Plugin()})


def good(name="good"):
    def make(runs, options):
        yield Artifact(name=f"{name}.md", content=f"{runs[0].title} {options.top}\n", show=True)
        yield Artifact(name=f"{name}.bin", content=b"\x00\x01")

    return Made(name, make)


def bad(*artifacts, name="bad"):
    return Made(name, lambda _runs, _options: artifacts)


def raising(error):
    def make(_runs, _options):
        yield Artifact(name="half.md", content="half")
        raise error

    return Made("raising", make)


def test_artifacts_are_written_and_shown(tmp_path):
    written = write_reports([RUN], ["good"], host_of(good()), tmp_path / "new" / "out", options={"good": {"top": 5}})
    assert written.files == (tmp_path / "new" / "out" / "good.md", tmp_path / "new" / "out" / "good.bin")
    assert written.files[0].read_text() == "Model 7B on MI355X 5\n"
    assert written.files[1].read_bytes() == b"\x00\x01"
    assert written.shown == ("Model 7B on MI355X 5\n",)
    assert written.failures == ()


@pytest.mark.parametrize(
    ("error", "said"), [(RuntimeError("oops\nsecond line"), "RuntimeError: oops second line"), (SystemExit(7), "SystemExit: 7")]
)
def test_a_reporter_that_raises_is_named_and_the_others_still_run(tmp_path, error, said):
    host = host_of(raising(error), good())
    written = write_reports([RUN], ["raising", "good"], host, tmp_path)
    assert [path.name for path in written.files] == ["good.md", "good.bin"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.bin", "good.md"]
    assert written.failures == (f"plugin acme (inline): reporter raising: {said}",)


def test_what_the_runs_do_not_allow_is_told_once_and_blames_nobody(tmp_path):
    error = InputError([Fault(where="b", problem="model is 'y', but 'x' in a"), Fault(where="c", problem="other")])
    host = host_of(raising(error), Made("second", raising(error).make), good())
    written = write_reports([RUN], ["raising", "second", "good"], host, tmp_path)
    assert written.failures == ("b: model is 'y', but 'x' in a", "c: other")
    assert len(written.files) == 2


@pytest.mark.parametrize(
    ("artifacts", "said"),
    [
        (["text"], "which is no Artifact"),
        ([Artifact(name="../up.md", content="x")], "no plain name"),
        ([Artifact(name="/etc/passwd", content="x")], "no plain name"),
        ([Artifact(name=".hidden", content="x")], "no plain name"),
        ([Artifact(name="good.md", content="x")], "another reporter has written already"),
        ([Artifact(name="bad.md", content=5)], "neither text nor bytes"),
        ([Artifact(name="bad.md", content="ok \ud800")], "character 3, '\\ud800', of bad.md is no text"),
    ],
)
def test_artifacts_that_cannot_be_written_are_the_reporters_failure(tmp_path, artifacts, said):
    written = write_reports([RUN], ["good", "bad"], host_of(good(), bad(*artifacts)), tmp_path / "out")
    assert len(written.files) == 2
    assert "plugin acme (inline): reporter bad: " in written.failures[0]
    assert said in written.failures[0]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_unknown_reporters_and_options_are_told_before_anything_is_written(tmp_path):
    with pytest.raises(InputError, match=r"--use: unknown reporter 'goood'.*did you mean 'good'"):
        write_reports([RUN], ["goood"], host_of(good()), tmp_path / "out", where="--use")
    with pytest.raises(InputError) as caught:
        write_reports([RUN], ["good"], host_of(good()), tmp_path / "out", options={"good": {"topp": 1, "top": "many"}})
    assert {fault.where for fault in caught.value.faults} == {"--set good.topp", "--set good.top"}
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be made a folder"):
        write_reports([RUN], ["good"], host_of(good()), tmp_path / "file")


FILE = '''
from ixbench.api.report import Artifact, OptionsModel, Reporter


class Options(OptionsModel):
    """Options."""

    top: int = 1


class Mine(Reporter[Options]):
    """A reporter of the user's own."""

    name = "mine"
    Options = Options

    def render(self, runs, options):
        return [Artifact(name="mine.md", content=f"{len(runs)} {options.top}")]
'''


def test_a_file_of_the_users_own_gives_a_reporter(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    written = write_reports([RUN], [str(path)], host_of(), tmp_path / "out", options={"mine": {"top": 7}})
    assert written.files[0].read_text() == "1 7"


def test_a_file_with_a_hook_gives_what_the_hook_gives(tmp_path):
    path = tmp_path / "hooked.py"
    hook = "\n\n@hookimpl\ndef ixbench_reporters():\n    return [Mine()]\n"
    path.write_text("from ixbench.api.hooks import hookimpl\n" + FILE + hook)
    (chosen,) = choose_reporters([str(path)], host_of())
    assert chosen.reporter.name == "mine"
    assert chosen.source == str(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (", "mine.py:1: cannot be loaded: SyntaxError"),
        ("x = 1\nx.y\n", "mine.py:2: cannot be loaded: AttributeError"),
        ("raise SystemExit(3)", "mine.py:1: cannot be loaded: SystemExit"),
        ("x = 1", "it gives no reporter"),
        (FILE.replace("    Options = Options\n", ""), "has no Options"),
    ],
)
def test_a_file_that_gives_none_is_one_sentence(tmp_path, text, said):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        choose_reporters([str(path)], host_of())
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_path_without_py_is_no_name_of_a_reporter():
    with pytest.raises(InputError) as caught:
        choose_reporters(["./mine", "good"], host_of(good()))
    assert str(caught.value) == "--use: './mine' is no name of a reporter; a file with one ends in .py"


def test_a_file_that_is_not_there_and_a_name_that_is_taken(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE.replace('"mine"', '"good"'))
    with pytest.raises(InputError) as caught:
        choose_reporters(["good", str(path), str(tmp_path / "absent.py")], host_of(good()))
    said = str(caught.value).splitlines()
    assert "both give a reporter 'good'" in said[0]
    assert "there is no such file" in said[1]
