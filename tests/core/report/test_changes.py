"""Which settings differ between two runs, and what is no setting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ixbench.model.run import ReportSettings
from ixbench.report.changes import SettingChange, changed_settings
from ixbench.testing.runs import SAMPLE_QUOTES, sample_point, sample_run


def started(*argv, env=None, port=8000, tmp="/run/a", **facts):
    process = {"name": "server", "argv": list(argv), "env": {name: {"value": value} for name, value in (env or {}).items()}}
    return {"runtime": "process", "processes": [process], "ports": {"http": port}, "tmp": tmp, **facts}


def one(launch, *, run_id="one", campaign=None, **identity):
    point = sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000, provenance={"launch": "l"}, **identity)
    return sample_run(point, id=run_id, launches={"l": launch}, campaign=campaign or {})


def changes(a, b):
    return [(change.group, change.name, change.a, change.b) for change in changed_settings(a, b)]


def test_equal_runs_differ_in_nothing():
    def launch(port, folder):
        flags = ("--port", f"{port}", f"--url=http://127.0.0.1:{port}/v1", "--home", f"{folder}/x")
        return started("serve", *flags, env={"HOME": folder, "A_PORT": f"{port}"}, port=port, tmp=folder)

    assert changes(one(launch(8000, "/run/a")), one(launch(9000, "/run/b"), run_id="two")) == []


def test_a_number_that_equals_a_port_is_no_port():
    a, b = one(started("serve", "--max-tokens", "8000")), one(started("serve", "--max-tokens", "8000", port=9000), run_id="two")
    assert changes(a, b) == []
    b = one(started("serve", "--max-tokens", "9000", port=9000), run_id="two")
    assert changes(a, b) == [("flags of vllm", "--max-tokens", "8000", "9000")]


def test_flags_environment_image_and_engine():
    a = one(
        started("vllm", "serve", "m", "--max-num-seqs", "64", "--enable-x", "--seed=1", "--offset", "-1", env={"AITER": "1", "OLD": "x"}),
        engine_version="0.22.0", image="rocm/vllm:1", settings={"max_num_seqs": 64},
    )  # fmt: skip
    b = one(
        started("vllm", "serve", "m", "--max_num_seqs", "128", "--no-enable-x", "--seed", "1", "--offset", "-1", env={"AITER": "0"},
                runtime_facts={"image_digest": "sha256:2"}),
        run_id="two", engine_version="0.23.0", image="rocm/vllm:2", settings={"max_num_seqs": 128},
    )  # fmt: skip
    assert changes(a, b) == [
        ("deployment vllm", "engine_version", "0.22.0", "0.23.0"),
        ("deployment vllm", "image", "rocm/vllm:1", "rocm/vllm:2"),
        ("deployment vllm", "max_num_seqs", "64", "128"),
        ("deployment vllm", "image digest", None, "sha256:2"),
        ("flags of vllm", "--max-num-seqs", "64", "128"),
        ("flags of vllm", "--enable-x", "on", "off"),
        ("environment of vllm", "AITER", "1", "0"),
        ("environment of vllm", "OLD", "x", None),
    ]


def test_what_is_off_and_what_is_unknown_are_not_what_nobody_gave():
    told = one(started("serve"), spec_method=None, kv_offload="off")
    untold = one(started("serve"), run_id="two", spec_method="unknown", kv_offload="unknown", disaggregated=None, multinode=None)
    assert changes(told, untold) == [
        ("deployment vllm", "spec_method", "off", "unknown"),
        ("deployment vllm", "kv_offload", "off", "unknown"),
        ("deployment vllm", "disaggregated", "false", "unknown"),
        ("deployment vllm", "multinode", "false", "unknown"),
    ]


def test_campaign_report_prices_versions_and_machine():
    a = sample_run(campaign={"title": "A", "workload": {"use": "fixed", "ratio": {"low": 1}}, "run": {"repeats": 3}}, machine={"cpus": 2})
    b = sample_run(
        id="two", campaign={"title": "B", "workload": {"use": "fixed", "ratio": {"low": 2}}}, machine={"cpus": 4},
        report=ReportSettings(axis="p90", use=("page",)), versions={"ixbench": "0.1.0", "python": "3.12.1"},
        quotes=(replace(SAMPLE_QUOTES[0], usd_per_gpu_hour=2.0), SAMPLE_QUOTES[1]),
    )  # fmt: skip
    assert changes(a, b) == [
        ("report", "axis", "median", "p90"),
        ("workload", "ratio.low", "1", "2"),
        ("run", "repeats", "3", None),
        ("prices", "mi355x, Owning at Large Hyperscaler Volume, USD per GPU-hour", "1.5", "2.0"),
        ("versions", "python", "3.11.7", "3.12.1"),
        ("machine", "cpus", "2", "4"),
    ]


def test_deployments_go_by_name_and_the_only_ones_by_themselves():
    def point(name, **more):
        return sample_point(f"{name}-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000, **more)

    a, b = sample_run(point("x", engine="vllm")), sample_run(point("y", engine="atom"), id="two")
    assert changes(a, b) == [("deployment x and y", "engine", "vllm", "atom")]
    b = sample_run(point("x", engine="vllm"), point("y"), id="two")
    assert changes(a, b) == [("deployment y", "points", None, "1 point")]


def test_values_of_several_launches_stand_together():
    def run(run_id, *seqs):
        points = [
            sample_point(
                f"vllm-c{number}", speed_tok_s_user=50, rate_tok_s_gpu=5000, concurrency=number, provenance={"launch": f"l{number}"}
            )
            for number, _ in enumerate(seqs, 1)
        ]
        launches = {f"l{number}": started("serve", *(("--seqs", value) if value else ())) for number, value in enumerate(seqs, 1)}
        return sample_run(*points, id=run_id, launches=launches)

    assert changes(run("a", "4", "4"), run("b", "4", "")) == [("flags of vllm", "--seqs", "4", "4 | -")]


@pytest.mark.parametrize(
    "launch", [{}, {"processes": None, "ports": None}, {"processes": ["x"]}, {"processes": [{"argv": [], "env": None}]}]
)
def test_launches_of_any_shape_are_read(launch):
    assert all(isinstance(change, SettingChange) for change in changed_settings(one(launch), one(started("serve"), run_id="two")))
