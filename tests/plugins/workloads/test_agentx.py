"""The options of AgentX: presets lock rules, changing one is refused or stamped, and names say what was replayed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from ixbench.model.errors import InputError
from ixbench.model.point import Load
from ixbench_plugins.agentx.replay.presets import PRESETS
from ixbench_plugins.workloads.agentx import AgentX, AgentXOptions

WORKLOAD = AgentX()


def options(**given):
    return AgentXOptions.model_validate(given)


def test_the_rules_of_an_agentic_ladder():
    assert (WORKLOAD.name, WORKLOAD.agentic, WORKLOAD.default_axis) == ("agentx", True, "p90")


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({}, 3600.0),
        ({"preset": "inferencex-agentx-mvp"}, 1800.0),
        ({"preset": "quick"}, 120.0),
        ({"preset": "quick", "duration": "20s"}, 20.0),
        ({"preset": "agentx", "traces": "builtin", "duration": "60m", "seed": 42}, 3600.0),
        ({"duration": "10m", "override": True}, 600.0),
    ],
)
def test_the_estimate_is_the_measured_phase(given, seconds):
    assert WORKLOAD.estimate_s(options(**given), Load(concurrency=4)) == seconds


class TestLockedRules:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"duration": "10m"}, "duration is 600 s, and preset 'agentx' allows 900 s or more"),
            ({"preset": "quick", "duration": 19}, "preset 'quick' allows 20 s or more"),
            ({"scale": 0.5}, "scale is 0.5, and preset 'agentx' locks the recorded token counts"),
            ({"output_cap": 64}, "output_cap is 64, and preset 'agentx' allows none"),
            ({"preset": "quick", "output_cap": 65}, "output_cap is 65, and preset 'quick' locks it at 64"),
            ({"preset": "quick", "max_context": 65_536}, "max_context is 65536, and preset 'quick' locks it at 32768"),
            ({"warmup_turns": 1}, "warmup_turns is 1, and preset 'agentx' locks it at 10"),
            ({"start_range": [0.0, 1.0]}, r"start_range is \[0, 1\], and preset 'agentx' locks it at \[0.25, 0.75\]"),
            ({"idle_cap": "20s"}, "idle_cap is 20, and preset 'agentx' locks it at 10"),
            (
                {"preset": "inferencex-agentx-mvp", "session_idle_cap": 300},
                "session_idle_cap is 300, and preset 'inferencex-agentx-mvp' allows none",
            ),
            ({"end_grace": "1m"}, "end_grace is 60, and preset 'agentx' locks it at 30"),
            ({"duration": "1m", "warmup_turns": 1}, "duration is 60 s.*; warmup_turns is 1"),
        ],
    )
    def test_are_refused_by_name_and_preset(self, given, message):
        with pytest.raises(ValidationError, match=message) as caught:
            options(**given)
        assert "override = true" in str(caught.value)
        assert options(**given, override=True).rules != PRESETS[given.get("preset", "agentx")].rules or "scale" in given

    @pytest.mark.parametrize(
        "given", [{"preset": "quick", "output_cap": 16}, {"preset": "quick", "scale": 0.1}, {"max_context": 9}, {"warmup_turns": 10}]
    )
    def test_what_the_preset_allows_needs_no_override(self, given):
        assert "override" not in options(**given).title

    def test_a_changed_rule_stands_in_the_name_and_in_the_facts(self):
        changed = options(warmup_turns=2, override=True)
        assert WORKLOAD.identity(changed).preset == "agentx-v1+override(warmup_turns)"
        facts = WORKLOAD.schedule(changed, Load(concurrency=1), key="k").facts
        assert (facts["comparable"], facts["not_comparable_since"]) == (False, "locked rules of the preset were changed")

    def test_an_override_that_changes_nothing_is_no_stamp(self):
        assert WORKLOAD.identity(options(override=True)).preset == "agentx-v1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"preset": "fast"}, "'agentx', 'inferencex-agentx-mvp' or 'quick'"),
        ({"traces": ""}, "traces is empty; write .builtin., .hf:OWNER/NAME., or a file or a folder"),
        ({"seed": -1}, "greater than or equal to 0"),
        ({"sead": 1}, "Extra inputs"),
        ({"preset": "quick", "scale": 0}, "greater than 0"),
        ({"start_range": [0.5, 0.25], "override": True}, "begins after its end"),
    ],
)
def test_values_that_can_not_be_are_refused(given, message):
    with pytest.raises(ValidationError, match=message):
        options(**given)


class TestReplicas:
    def test_the_first_is_what_was_asked_and_the_others_draw_anew(self):
        asked = options(corpus_seed=5)
        replicas = [WORKLOAD.replica(asked, number) for number in range(4)]
        assert replicas[0] is asked
        assert [(replica.corpus_seed, replica.seed) for replica in replicas[1:]] == [(6, 43), (7, 44), (8, 45)]

    def test_a_seed_that_is_fresh_stays_fresh(self):
        replica = WORKLOAD.replica(options(preset="inferencex-agentx-mvp"), 3)
        assert (replica.corpus_seed, replica.seed) == (45, None)
        one, other = (WORKLOAD.schedule(replica, Load(concurrency=1), key=key).phases[0].sessions().draw(0) for key in ("a", "b"))
        assert one.turns[0].number != other.turns[0].number


def test_paths_are_paths_and_names_are_names():
    assert options(traces="some/folder").traces == Path("some/folder")
    assert [options(traces=name).traces for name in ("builtin", "hf:a/b")] == ["builtin", "hf:a/b"]


class TestIdentity:
    def test_names_preset_version_and_scale(self):
        assert WORKLOAD.identity(options(preset="quick")).preset == "quick-v1"
        assert WORKLOAD.identity(options(preset="quick", scale=0.1)).preset == "quick-v1+scale0.1"

    def test_the_built_in_corpus_has_a_hash_of_its_seed(self):
        corpora = [WORKLOAD.identity(options(**given)).corpus for given in ({}, {"seed": 42}, {"corpus_seed": 7}, {"seed": 7})]
        assert corpora[0] == corpora[1]
        assert corpora[2] == corpora[3]
        assert corpora[0] != corpora[2]
        assert corpora[0].startswith("generated:agentx:42:")

    def test_leaving_traces_out_makes_another_corpus(self):
        assert WORKLOAD.identity(options(max_context=256_000)).corpus.endswith("+max_context=256000")


def test_a_rate_is_refused_in_one_sentence():
    with pytest.raises(InputError) as caught:
        WORKLOAD.schedule(options(), Load(rate=1.0), key="k")
    assert str(caught.value) == "workload agentx: replays sessions in lanes, and a rate is given; allowed: concurrency = [...]"


def test_a_corpus_without_a_trace_that_fits_is_refused():
    with pytest.raises(InputError, match=r"no trace fits into 900 tokens of context, the shortest needs \d+; raise workload.max_context$"):
        WORKLOAD.schedule(options(max_context=900), Load(concurrency=1), key="k")


@pytest.mark.parametrize("seed", [1, 7, 43, 99])
def test_what_is_advised_where_no_built_in_trace_fits_a_laptop_helps(seed):
    with pytest.raises(InputError) as caught:
        WORKLOAD.schedule(options(preset="quick", seed=seed), Load(concurrency=1), key="k")
    (scale,) = re.findall(r"fits into 32768 tokens .*; scale the token counts down: workload.scale = ([\d.]+) \(bench: ", str(caught.value))
    found = WORKLOAD.schedule(options(preset="quick", seed=seed, scale=float(scale)), Load(concurrency=16), key="k")
    sessions = found.phases[0].sessions()
    assert len({sessions.draw(lane).id.split(":")[0] for lane in range(16)}) == 16
