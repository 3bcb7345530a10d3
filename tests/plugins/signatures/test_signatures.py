"""The shipped failure signatures load and compile."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from ixbench_plugins.signatures import SIGNATURES, read_signatures


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.id)
def test_each_is_complete(signature):
    re.compile(signature.pattern)
    assert signature.kind in {"fatal", "invalidates", "warning"}
    assert signature.trigger in {"log", "exit", "sanity", "window"}
    assert signature.engine in {"any", "vllm", "atom", "sglang"}
    assert signature.cause
    assert signature.fix


def test_all_are_there_once_and_in_order():
    ids = [signature.id for signature in SIGNATURES]
    assert len(ids) == len(set(ids)) == 55
    assert (ids[0], ids[47], ids[-1]) == ("gpu-out-of-memory", "garbage-output", "compile-in-window")


def test_what_spoils_a_measured_window():
    assert {signature.id for signature in SIGNATURES if signature.spoils_window} == {
        "jit-in-measured-window",
        "graph-capture-in-window",
        "compile-in-window",
    }


def test_a_pattern_finds_its_line():
    by_id = {signature.id: signature for signature in SIGNATURES}
    line = "vllm: error: unrecognized arguments: --no-such-flag"
    assert re.search(by_id["unknown-cli-flag"].pattern, line)[1] == "--no-such-flag"
    assert not re.search(by_id["killed-silent"].pattern, "anything")


SEEN = {
    "container-limit-refused": (
        "error during container init: error setting rlimits for ready process: error setting rlimit type 8: operation",
    ),
    "container-command-missing": (
        'unable to start container process: exec: "nosuch": executable file not found in $PATH: OCI runtime attempted to invoke',
        'unable to start container process: exec: "/no/such": stat /no/such: no such file or directory: unknown',
        "[FATAL tini (7)] exec nosuch failed: No such file or directory",
        "ERROR (catatonit:6): failed to exec pid1: No such file or directory",
    ),
    "container-device-missing": (
        "Error: stat /dev/kfd: no such file or directory",
        'Error response from daemon: error gathering device information while adding custom device "/dev/kfd": no such file or directory',
    ),
    "container-group-missing": ("docker: Error response from daemon: Unable to find group video: no matching entries in group file",),
    "container-gpu-toolkit-missing": (
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]]',
        "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
    ),
}
"""What docker and podman said when they were asked for what is not there."""


@pytest.mark.parametrize(("identifier", "line"), [(identifier, line) for identifier, lines in SEEN.items() for line in lines])
def test_what_container_tools_say_is_known_as_what_it_is(identifier, line):
    assert [signature.id for signature in SIGNATURES if re.search(signature.pattern, line)] == [identifier]


def test_an_unknown_key_is_not_swallowed():
    with pytest.raises(TypeError, match="surprise"):
        read_signatures('[[signature]]\nid = "x"\nsurprise = 1\n')


def test_the_shipped_file_is_the_one_beside_the_checkout(shared):
    shipped = files("ixbench_plugins.signatures").joinpath("failure_signatures.toml").read_bytes()
    assert shipped == (shared / "reference/failure_signatures.toml").read_bytes()
