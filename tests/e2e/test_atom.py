"""Engine `atom` from plan to sealed points, against the scripted server in ATOM's shape: command line, log, counters and restarts."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

PROMPTS = [f"there are words in front which fill a block or two of the prefix cache, and then a number: {number}" for number in range(32)]
SETTINGS = f'executable = "{sys.executable}"\n'
SPECULATIVE = 'speculative = { method = "mtp", tokens = 2 }\n'
POINTS = ("atom-c1", "atom-c2")


@pytest.fixture(scope="module")
def atom(tmp_path_factory):
    """Return a folder for PYTHONPATH that holds the package `atom`."""
    folder = tmp_path_factory.mktemp("atom")
    package = folder / "atom" / "entrypoints"
    package.mkdir(parents=True)
    (folder / "atom" / "__init__.py").touch()
    (package / "__init__.py").touch()
    shutil.copy(Path(__file__).with_name("atom_server.py"), package / "openai_server.py")
    return folder


def write(shell, settings, *, concurrency=(2,), rest="", prompts=PROMPTS):
    shell.write_prompts(prompts)
    shell.write(
        "campaign.toml",
        'schema = 1\ntitle = "ATOM"\n[model]\nid = "acme/tiny"\n[hardware]\nsku = "cpu"\ngpus = 1\n'
        '[workload]\nuse = "prompts"\nfile = "prompts.jsonl"\noutput_tokens = 12\nwarmup = 0\nmarker = false\n'
        f'[[deployment]]\nengine = "atom"\nconcurrency = {list(concurrency)}\n{SETTINGS}{settings}{rest}\n',
    )


@pytest.fixture
def shell(make_shell, atom, tmp_path):
    with make_shell(tmp_path, atom) as made:
        yield made


@pytest.fixture(scope="module")
def done(make_shell, atom, tmp_path_factory):
    """Return one run over two points, with speculative decoding and sanity prompts."""
    with make_shell(tmp_path_factory.mktemp("done"), atom) as made:
        write(made, f"sanity = true\n{SPECULATIVE}", concurrency=(1, 2))
        ended = made.run("run", "campaign.toml")
        assert made.processes() == []
        yield ended


def launch(done):
    (path,) = done.folder.glob("launches/*/launch.json")
    return json.loads(path.read_text()), path.parent


def test_from_plan_to_points(done):
    assert done.code in {0, 1}, done.err
    for point in POINTS:
        result, records = done.point(point), done.records(point)
        assert (result["failure"], result["accounting"]["ok"]) == (None, len(PROMPTS))
        # What a busy machine may do to the times of a test is all that may be said of the point.
        assert {reason["code"] for reason in result["verdict"]["reasons"]} <= {
            "too_short",
            "few_requests",
            "client_lag",
            "thin_percentiles",
        }
        assert (result["identity"]["engine"], result["identity"]["spec_method"]) == ("atom", "mtp")
        # ATOM says "stop" of answers that their limit cut off, too.
        assert {(record.finish_reason, record.usage_output) for record in records} == {("stop", 12)}
        # Nothing was left in the cache by the point before; what came after the first request found its beginning there.
        assert records[0].usage_cached == 0
        assert all(record.usage_cached for record in records[4:])


def test_the_engines_own_counters_are_those_of_the_client(done):
    for point in POINTS:
        records = done.records(point)
        window = done.point(point)["provenance"]["measurement"]["engine_window"]
        delta = window["delta"]
        assert delta["prompt_tokens"] == delta["prefix_cache_queries"] == sum(record.usage_input for record in records)
        assert delta["generation_tokens"] == sum(record.usage_output for record in records)
        assert delta["prefix_cache_hits"] == sum(record.usage_cached for record in records)
        assert (delta["finished"], delta["drafts"]) == (len(records), len(records) * 4)
        assert (window["reset"], set(window["missing"])) == (False, {"external_cache_queries"})


def test_realized_acceptance_stands_in_the_point(done):
    for point in POINTS:
        # All of two drafts pass, and the target adds its own token.
        assert done.point(point)["metrics"]["acceptance_length"]["realised"] == pytest.approx(3.0)
        assert done.point(point)["provenance"]["measurement"]["acceptance_reported"] == pytest.approx(3.0)


def test_only_a_restart_empties_the_cache_and_starts_are_counted(done):
    record, folder = launch(done)
    assert done.err.count("starting") == 2
    assert sorted(path.name for path in folder.glob("engine.log*")) == ["engine.log", "engine.log.1"]
    assert len(record["starts"]) == 2


def test_the_log_and_the_server_tell_what_ran(done):
    record, folder = launch(done)
    assert "Engine kwargs:" in (folder / "engine.log").read_text()
    text = json.dumps([record, *(done.point(point)["provenance"] for point in POINTS)])
    for part in ('"owned_by": "atom"', '"tp_size": 1', "What is the capital of France?", "help_sha256"):
        assert part in text


def test_the_build_is_asked_for_its_flags_before_it_is_started(shell):
    write(shell, "state_checkpoints = { slots = 4 }\n")
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    assert "--state-checkpoint-slots" in done.point("atom-c2")["failure"]["cause"]
    assert not any("Loading tokenizer" in path.read_text() for path in done.folder.glob("launches/*/engine.log"))


def test_a_build_that_answers_garbage_is_not_measured(shell):
    write(shell, "sanity = true\n", rest='[deployment.env]\nFAKE_ATOM_GARBAGE = "1"\n')
    done = shell.run("run", "campaign.toml")
    assert done.code == 3
    assert done.point("atom-c2")["failure"]["code"] == "sanity_failed"
    assert shell.processes() == []


def test_a_profiled_point_names_the_folder_of_its_traces_and_has_no_acceptance_without_drafts(shell):
    write(shell, "profiler = true\n")
    done = shell.run("run", "campaign.toml", "--profile", "atom-c2")
    result = done.point("atom-c2")
    (traces,) = result["provenance"]["profile_traces"]
    assert traces.endswith("/profile")
    assert result["metrics"]["acceptance_length"]["realised"] is None


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"FAKE_ATOM_DIES_AT": 9}, "atom-worker-died"),
        ({"FAKE_ATOM_DIES_AT": 9, "FAKE_ATOM_SILENT": 1}, "engine_worker_died"),
        ({"FAKE_ATOM_HANGS_AT": 9}, "engine_stalled"),
    ],
    ids=["its log tells", "its process is gone", "nothing moves"],
)
def test_a_worker_that_is_lost_behind_a_constant_health_path(shell, variables, code):
    table = "[deployment.env]\n" + "".join(f'{name} = "{value}"\n' for name, value in variables.items())
    write(shell, "", rest=f"{table}[run]\nstall_limit = 12\n")
    done = shell.run("run", "campaign.toml")
    assert done.code in {1, 3}, done.err
    result = done.point("atom-c2")
    assert result["failure"]["code"] == code, result["failure"]
    assert result["verdict"]["status"] == "invalid"
    assert "engine_died" in {reason["code"] for reason in result["verdict"]["reasons"]}
    assert 0 < result["accounting"]["ok"] < len(PROMPTS)
    assert shell.processes() == []


def variables(**values):
    return "[deployment.env]\n" + "".join(f'{name} = "{value}"\n' for name, value in values.items())


DEATH_LIMIT_S = 15


def test_an_engine_that_computes_for_ever_is_known_as_soon_as_one_that_tells_its_steps(shell):
    """Its page is renewed every 5 s and counts what ended, its health path is a constant, and prompts are under way when it hangs."""
    write(shell, "", concurrency=(2, 1), rest=variables(FAKE_ATOM_SPINS_AT=12, FAKE_ATOM_ONCE=shell.folder / "hung", FAKE_ATOM_REFRESH_S=5))
    done = shell.run("run", "campaign.toml")
    assert done.code in {1, 3}, done.err
    failure = done.point("atom-c2")["failure"]
    assert failure["code"] == "engine_stalled", failure
    said = "its counters stand still although requests run, and a completion of one token is not answered"
    silent_s = int(re.search(rf"no byte of any answer for (\d+) s, and {said}", failure["cause"])[1])
    assert silent_s <= DEATH_LIMIT_S, failure
    assert done.point("atom-c1")["accounting"]["ok"] == len(PROMPTS), "the next point gets a fresh engine"
    assert shell.processes() == []


def test_a_prompt_longer_than_all_before_is_computed_in_silence(shell):
    """Longer than the limit for what is known, with a page on which nothing moves and a question that is not answered."""
    prompts = [*PROMPTS[:8], "at length, " * 200]
    write(shell, "", concurrency=(1,), prompts=prompts, rest=variables(FAKE_ATOM_COMPUTES_S=25, FAKE_ATOM_REFRESH_S=5))
    done = shell.run("run", "campaign.toml")
    result = done.point("atom-c1")
    assert (result["failure"], result["accounting"]["ok"]) == (None, len(prompts)), done.err
    longest_s = max((record.close_ns - record.send_ns) / 1e9 for record in done.records("atom-c1"))
    assert longest_s > DEATH_LIMIT_S
    assert shell.processes() == []
