"""The command itself: every failure is one sentence with the right exit code, and never a traceback that nobody asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from ixbench import __version__
from ixbench.api.hooks import hookimpl
from ixbench.cli import main as cli
from ixbench.cli.parser import Parser, command_parser, parse
from ixbench.host import load
from ixbench.host.contracts.command import Command
from ixbench.host.host import Host
from ixbench.model.errors import MOST_TOLD, Fault, InputError, IxbenchError


def command(name="hello", run=lambda arguments: 0, configure=lambda parser: None, **more):
    return Command(name=name, summary="greet", configure=configure, run=run, **more)


@pytest.fixture
def ixbench(monkeypatch, capsys):
    """Run a command line with plugin commands added; returns code, stdout and stderr."""

    def run(*words, commands=None):
        host = Host.of({"acme": SimpleNamespace(ixbench_commands=hookimpl(lambda: [command()] if commands is None else commands))})
        for module in (cli, load):
            monkeypatch.setattr(module, "load_host", lambda: host)
        try:
            code = cli.main(words)
        except SystemExit as left:
            code = left.code
        return (code, *capsys.readouterr())

    return run


def raising(error):
    def run(arguments):
        raise error

    return command(run=run)


def test_without_arguments_it_prints_help_and_fails(ixbench):
    code, out, err = ixbench()
    assert (code, out) == (2, "")
    assert err.startswith("usage: ixbench")


def test_help_lists_every_command(ixbench):
    code, out, err = ixbench("--help")
    assert (code, err) == (0, "")
    for name in (*cli.BUILT_IN, "hello"):
        assert re.search(rf"^    {name}\s", out, re.MULTILINE)


def test_version(ixbench):
    assert ixbench("--version") == (0, f"ixbench {__version__}\n", "")


def test_the_exit_code_is_the_commands(ixbench):
    assert ixbench("hello", commands=[command(run=lambda arguments: 3)])[0] == 3


@pytest.mark.parametrize(
    ("error", "code", "err"),
    [
        (
            InputError([Fault(where="a.toml: x", problem="one", advice="do"), Fault(where="a.toml: y", problem="two\nlines")]),
            2,
            "ixbench: a.toml: x: one; do\nixbench: a.toml: y: two lines\n",
        ),
        (IxbenchError("the disk is full"), 1, "ixbench: the disk is full\n"),
        (KeyboardInterrupt(), 130, "ixbench: interrupted\n"),
    ],
)
def test_a_foreseen_failure_is_a_sentence(ixbench, error, code, err):
    assert ixbench("hello", commands=[raising(error)]) == (code, "", err)


def test_an_unforeseen_failure_is_a_sentence_with_advice(ixbench, monkeypatch):
    monkeypatch.delenv("IXBENCH_DEBUG", raising=False)
    code, out, err = ixbench("hello", commands=[raising(KeyError("x"))])
    assert (code, out) == (1, "")
    assert err.startswith("ixbench: internal error in command 'hello' of plugin acme (inline): KeyError: 'x'; ")
    assert err.count("\n") == 1


def test_the_traceback_is_there_for_who_asks(ixbench, monkeypatch):
    monkeypatch.setenv("IXBENCH_DEBUG", "1")
    code, _, err = ixbench("hello", commands=[raising(KeyError("x"))])
    assert code == 1
    assert "Traceback (most recent call last)" in err


def test_failures_of_concurrent_tasks_are_told_one_by_one(ixbench):
    fault = Fault(where="a.toml: x", problem="one")
    group = ExceptionGroup("tasks", [IxbenchError("the disk is full"), ExceptionGroup("more", [InputError(fault)])])
    assert ixbench("hello", commands=[raising(group)]) == (2, "", "ixbench: the disk is full\nixbench: a.toml: x: one\n")
    stopped = BaseExceptionGroup("tasks", [KeyboardInterrupt(), ValueError("x")])
    assert ixbench("hello", commands=[raising(stopped)]) == (130, "", "ixbench: interrupted\n")


def test_what_the_system_refuses_is_no_fault_of_ixbench(ixbench, monkeypatch):
    monkeypatch.delenv("IXBENCH_DEBUG", raising=False)
    code, _, err = ixbench("hello", commands=[raising(OSError(28, "No space left on device", "results"))])
    assert code == 1
    assert err.startswith("ixbench: the system refused something in command 'hello' of plugin acme (inline): OSError: [Errno 28] No space")


def test_secrets_do_not_reach_a_message(ixbench, monkeypatch):
    monkeypatch.delenv("IXBENCH_DEBUG", raising=False)
    for error in (ValueError("http://me:hunter22@host/v1"), IxbenchError("http://me:hunter22@host/v1 refuses")):
        assert "hunter22" not in ixbench("hello", commands=[raising(error)])[2]


def test_a_plugin_cannot_take_a_built_in_command(ixbench):
    code, out, err = ixbench("plugins", commands=[command("plugins"), command()])
    assert (code, err) == (1, "")
    assert "plugin acme (inline): ixbench_commands: command 'plugins' is built in" in out
    assert ixbench("hello", commands=[command("plugins"), command()])[0] == 0


def test_a_command_that_cannot_be_configured_is_attributed(ixbench):
    def configure(parser):
        parser.add_argument("--json")
        parser.add_argument("--json")

    code, _, err = ixbench("hello", commands=[command(configure=configure)])
    assert code == 1
    assert "command 'hello' of plugin acme (inline): ArgumentError: argument --json: conflicting option string" in err
    assert ixbench("--help", commands=[command(configure=configure)])[0] == 0


@pytest.mark.parametrize(
    ("words", "err"),
    [
        (["helo"], ["command line: unknown command 'helo'; allowed: ", "did you mean 'hello'?", "try `ixbench --help`"]),
        (["--versoin"], ["command line: unknown flag '--versoin'; did you mean '--version'?; try `ixbench --help`"]),
        (["hello"], ["hello: the following arguments are required: FILE; try `ixbench hello --help`"]),
        (["hello", "a.toml", "--resum"], ["hello: unknown flag '--resum'; did you mean '--resume'?; try `ixbench hello --help`"]),
        (["hello", "a.toml", "--res"], ["hello: unknown flag '--res'"]),
        (["hello", "a.toml", "--colour", "red"], ["hello: unknown flag '--colour'"]),
        (["hello", "a.toml", "--colour=red"], ["hello: unknown flag '--colour'"]),
        (["hello", "a.toml", "b.toml"], ["hello: unexpected argument 'b.toml'"]),
        (["hello", "a.toml", "--count", "many"], ["hello: argument --count/-n: invalid int value: 'many'"]),
        (["hello", "a.toml", "--count"], ["hello: argument --count/-n: expected one argument"]),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(ixbench, words, err):
    code, out, told = ixbench(*words, commands=[command(configure=configure_hello)])
    assert (code, out) == (2, "")
    assert told.startswith("ixbench: ")
    assert told.count("\n") == 1
    for part in err:
        assert part in told


def test_all_faults_of_a_command_line_are_told_at_once(ixbench):
    code, _, err = ixbench("hello", "--resum", "--cout", commands=[command(configure=configure_hello)])
    assert code == 2
    assert [line.partition(";")[0] for line in err.splitlines()] == [
        "ixbench: hello: unknown flag '--resum'",
        "ixbench: hello: unknown flag '--cout'",
        "ixbench: hello: the following arguments are required: FILE",
    ]


def configure_hello(parser):
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--count", "-n", type=int)


@pytest.mark.parametrize(
    ("words", "count"), [(["a", "--count", "-9"], -9), (["a", "-n4"], 4), (["a", "--count=5"], 5), (["--count", "6", "--", "--resum"], 6)]
)
def test_what_looks_like_a_flag_and_is_none(words, count):
    parser = Parser(prog="ixbench hello")
    configure_hello(parser)
    assert parse(parser, words).count == count


def test_flags_of_nested_commands_are_known():
    parser = Parser(prog="ixbench trace")
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("inspect").add_argument("--json", action="store_true")
    actions.add_parser("generate").add_argument("--seed")
    arguments = parse(parser, ["inspect", "--json"])
    assert (arguments.action, arguments.json) == ("inspect", True)
    with pytest.raises(
        InputError, match=r"trace inspect: unknown flag '--jsn'; did you mean '--json'\?; try `ixbench trace inspect --help`"
    ):
        parse(parser, ["inspect", "--jsn"])
    with pytest.raises(InputError, match="trace inspect: unknown flag '--seed'"):
        parse(parser, ["inspect", "--seed", "3"])
    with pytest.raises(InputError, match="trace: argument action: invalid choice: 'look'"):
        parse(parser, ["look"])


def test_examples_end_the_help():
    text = command_parser(command(examples=("ixbench hello you",), description="Greets somebody.")).format_help()
    assert "\nGreets somebody.\n" in text
    assert text.endswith("examples:\n  ixbench hello you\n")


@pytest.mark.parametrize("name", cli.BUILT_IN)
def test_the_help_of_every_command_teaches(name):
    text = command_parser(cli.built_in_commands()[name]).format_help()
    assert "\nexamples:\n  ixbench " in text
    built_in = cli.built_in_commands()[name]
    assert built_in.name == name
    assert built_in.description


def test_a_reader_that_has_gone_is_no_failure():
    script = "import sys; from ixbench.cli.main import main; sys.exit(main(['plugins', '--json']))"
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([sys.executable, "-c", script], check=False, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(("closed", "code"), [("1", 0), ("2", 2)])
def test_a_closed_stream_is_no_failure(closed, code, tmp_path):
    words = "plugins" if closed == "1" else "absent"
    script = "import sys; from ixbench.cli.entry import main; sys.exit(main())"
    said = tmp_path / "said"
    with said.open("wb") as file:
        done = subprocess.run(
            ["/bin/sh", "-c", f'exec "$0" -c "$1" {words} {closed}>&-', sys.executable, script], stdout=file, stderr=file, check=False
        )
    assert (done.returncode, said.read_text()) == (code, "")


def test_an_interruption_while_things_are_imported_is_told_like_any_other():
    script = (
        "import signal, sys\n"
        "from ixbench.cli.entry import main\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'ixbench.cli.main':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ixbench: interrupted\n")


def test_a_file_name_is_seen_and_not_obeyed(ixbench):
    code, out, err = ixbench("check", "\x1b[31mred\a.toml")
    assert (code, out) == (2, "")
    assert r"\x1b[31mred\x07.toml" in err
    assert not {"\x1b", "\a"} & set(err)


def test_of_very_many_faults_the_first_are_told_and_the_rest_counted(ixbench, tmp_path):
    path = tmp_path / "many.toml"
    path.write_text("".join(f"key{number} = 1\n" for number in range(1000)))
    code, out, err = ixbench("check", str(path))
    lines = err.splitlines()
    assert (code, out, len(lines)) == (2, "", MOST_TOLD + 1)
    assert lines[0].startswith(f"ixbench: {path}: key0: unknown key; allowed: ")
    assert re.fullmatch(r"ixbench: and 9\d\d more faults; mend these first", lines[-1])
