"""`ixbench show`, as it is typed."""

from __future__ import annotations

import json

import pytest

from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.testing.folders import write_sample_run

LAUNCH = {
    "format": 1,
    "id": "vllm",
    "engine": "vllm",
    "runtime": "docker",
    "runtime_facts": {"image_digest": "sha256:aa"},
    "image": "acme/vllm:1",
    "url": "http://127.0.0.1:20001",
    "processes": [
        {
            "name": "cache",
            "argv": ["lmcache", "--port", "20002"],
            "command": ["lmcache", "--port", "20002"],
            "env": {},
            "pid": 1,
            "gpus": [],
        },
        {
            "name": "server",
            "argv": ["vllm", "serve", "m", "--port", "20001"],
            "command": ["docker", "run", "acme/vllm:1", "serve", "m"],
            "env": {"HF_TOKEN": {"value": "***", "reason": "the hub asks for it", "origin": "benchmarks.toml"}},
            "pid": 2,
            "gpus": [],
        },
    ],
    "started": "2026-11-30T06:45:01Z",
    "ready_s": 754.0,
    "stopped": "2026-11-30T07:45:01Z",
    "starts": [
        {
            "started": "2026-11-30T06:30:01Z",
            "ready_s": None,
            "stopped": "2026-11-30T06:40:01Z",
            "failure": {"code": "oom", "cause": "No memory."},
            "log": "engine.log.1",
        },
        {
            "started": "2026-11-30T06:45:01Z",
            "ready_s": 754.0,
            "stopped": "2026-11-30T07:45:01Z",
            "failure": None,
            "log": "engine.log",
        },
    ],
    "amended_by": ["pinning"],
    "notes": ["a note\x1b[2J"],
}


@pytest.fixture
def run(tmp_path):
    return write_sample_run(tmp_path / "results", load_host())


@pytest.fixture
def keep(run):
    """Return a function that puts the launch of the sample's points into the run, with changes."""

    def write(**changes):
        folder = run / "launches" / "vllm"
        folder.mkdir(parents=True)
        (folder / "launch.json").write_text(json.dumps({**LAUNCH, **changes}))

    return write


def test_metrics_of_third_parties_are_shown_beside_ours(run, capsys):
    header = json.loads((run / "run.json").read_text())
    note = {"unit": "tokens", "better": "neither", "needs": [], "definition": "Acme's.", "source": "", "plugin": "acme"}
    header["plugins"].append({"name": "acme", "distribution": "acme-bench", "version": "2"})
    header["metrics"] += [{"name": "acme_answer_tokens", **note}, {"name": "acme_odd", **note}]
    (run / "run.json").write_text(json.dumps(header))
    path = run / "points" / "vllm-c8" / "point.json"
    point = json.loads(path.read_text())
    point["metrics"] |= {"acme_answer_tokens": 512, "acme_odd": {"left": 1, "right": None}, "stall_s": 1}
    path.write_text(json.dumps(point))
    assert main(["show", str(run), "vllm-c8"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["acme_answer_tokens", "512"] in lines
    assert ["acme_odd", "left", "1.00"] in lines
    assert not any(line[:1] == ["stall_s"] for line in lines)


def test_a_point_with_what_became_of_it_and_how_it_was_started(run, keep, capsys):
    keep()
    assert main(["show", str(run), "vllm-c8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    verdict = json.loads((run / "points" / "vllm-c8" / "point.json").read_text())["verdict"]
    assert lines[0] == f"vllm-c8: {verdict['status'].replace('_', ' ')}, measured"
    assert any(line.split()[:2] == ["speed_tok_s_user", "p50"] for line in lines)
    assert "launch vllm: started 2 times, ready after 13 min" in lines
    assert "  2026-11-30T06:30:01Z: never ready, oom: No memory.; log engine.log.1" in lines
    assert "  image acme/vllm:1 (sha256:aa)" in lines
    assert "  changed by pinning" in lines
    assert "server: vllm serve m --port 20001" in lines
    assert "  run as: docker run acme/vllm:1 serve m" in lines
    assert "  HF_TOKEN='***'  # benchmarks.toml: the hub asks for it" in lines
    assert r"  a note\x1b[2J" in lines


def test_a_point_that_failed_says_why(run, keep, capsys):
    keep()
    assert main(["show", str(run), "vllm-c64"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("vllm-c64: failed, measured\n")
    assert "  oom: The GPU ran out of memory. Lower max_num_seqs.\n    HIP out of memory\n" in out


def test_an_invalid_point_says_why(run, keep, capsys):
    keep()
    assert main(["show", str(run), "vllm-c16"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("vllm-c16: invalid, measured\n")
    assert "http_status" in out
    assert "\n  invalid: " in out


def test_a_launch_in_one_start_is_told_in_one_line(run, keep, capsys):
    keep(starts=LAUNCH["starts"][1:])
    assert main(["show", str(run), "vllm-c8"]) == 0
    out = capsys.readouterr().out
    assert "launch vllm: started once, ready after 13 min\n" in out
    assert "log engine.log" not in out


def test_a_simulated_launch_was_not_started(run, keep, capsys):
    keep(simulated=True, starts=None)
    assert main(["show", str(run), "vllm-c8"]) == 0
    assert "launch vllm: it would have been started so; nothing was\n" in capsys.readouterr().out


def test_a_server_that_already_ran(run, keep, capsys):
    keep(processes=[])
    assert main(["show", str(run), "vllm-c8"]) == 0
    assert "launch vllm: a server that was already running at http://127.0.0.1:20001\n" in capsys.readouterr().out


def test_a_run_without_the_launch_still_shows_the_point(run, capsys):
    assert main(["show", str(run), "vllm-c8"]) == 0
    assert "launch vllm: the run does not keep how it was started" in capsys.readouterr().out
    assert main(["show", str(run), "vllm-c8", "--shell"]) == 2
    assert "does not keep how its engine was started" in capsys.readouterr().err


def test_shell_prints_commands_only(run, keep, capsys):
    keep()
    assert main(["show", str(run), "vllm-c8", "--shell"]) == 0
    out = capsys.readouterr().out
    assert "# cache\nlmcache \\\n  --port 20002 &\n" in out
    assert 'HF_TOKEN="${HF_TOKEN:?is a secret and not kept; set it first}" \\\n  docker run acme/vllm:1 serve m\n' in out
    assert "\x1b" not in out


def test_json_is_what_the_run_folder_holds(run, keep, capsys):
    keep()
    assert main(["show", str(run), "vllm-c8", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"point": json.loads((run / "points" / "vllm-c8" / "point.json").read_text()), "launch": LAUNCH}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["RUN", "vllm-c9"], "no point 'vllm-c9'; allowed: vllm-c1, vllm-c8, vllm-c16, vllm-c64; did you mean 'vllm-c"),
        (["RUN", "../run.json"], "no point '../run.json'"),
        (["absent", "vllm-c1"], "absent: is no run folder"),
        (["RUN"], "required: POINT"),
        (["RUN", "vllm-c1", "--shell", "--json"], "not allowed with"),
    ],
)
def test_wrong_input_is_exit_2_and_one_sentence(run, capsys, arguments, said):
    assert main(["show", *(str(run) if word == "RUN" else word for word in arguments)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_point_that_is_planned_and_not_finished(run, capsys):
    (run / "points" / "vllm-c8" / "point.json").unlink()
    assert main(["show", str(run), "vllm-c8"]) == 2
    assert "point 'vllm-c8' is not finished; allowed: vllm-c1, vllm-c16, vllm-c64" in capsys.readouterr().err


@pytest.mark.parametrize("broken", ["{", "[]", "\xff"])
def test_a_broken_launch_is_one_sentence(run, keep, capsys, broken):
    keep()
    (run / "launches" / "vllm" / "launch.json").write_bytes(broken.encode("latin-1"))
    assert main(["show", str(run), "vllm-c8"]) == 2
    assert "launch.json: is no launch.json" in capsys.readouterr().err
