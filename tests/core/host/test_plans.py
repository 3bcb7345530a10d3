from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ixbench.host.plans import plan_fault
from ixbench.model.deployment import EnvVar
from ixbench.model.launch import LaunchPlan, ProcessPlan

SECRET = "sk-of-nobody"
ENV = {"HOME": EnvVar(value="/home", reason="the server asks", origin="adapter acme")}


def plan_of(*, processes: Any = None, files: Any = None, headers: Any = None, **process: Any) -> LaunchPlan:
    server = ProcessPlan(**({"name": "server", "argv": ("acme", "serve"), "env": ENV} | process))
    return LaunchPlan(
        engine="acme", processes=(server,) if processes is None else processes, served_model="m", files=files or {}, headers=headers or {}
    )


@pytest.mark.parametrize("plan", [plan_of(), plan_of(argv=["acme"]), plan_of(files={"a": "b"}, headers={"x": "y"}), plan_of(processes=())])
def test_sound_plans(plan):
    assert plan_fault(plan) == ""


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (None, "returned NoneType; allowed: a LaunchPlan"),
        ([plan_of()], "returned list; allowed: a LaunchPlan"),
        (
            plan_of(processes=plan_of().processes[0]),
            "processes is of type ProcessPlan; allowed: a tuple of ProcessPlan, also of a single one: (server,)",
        ),
        (plan_of(processes=(SECRET,)), "processes holds what is of type str; allowed: ProcessPlan"),
        (plan_of(argv="acme serve"), "process 'server': argv is of type str; allowed: a tuple of texts, one a word"),
        (plan_of(argv=("acme", "--port", 8000)), "process 'server': argv[2] is of type int; allowed: texts"),
        (plan_of(argv=("acme", None)), "process 'server': argv[1] is None; allowed: texts"),
        (plan_of(env=[SECRET]), "process 'server': env is of type list; allowed: a table of EnvVar"),
        (
            plan_of(env=ENV | {"TOKEN": SECRET}),
            "process 'server': env TOKEN is of type str; allowed: EnvVar(value=..., reason=..., origin=...)",
        ),
        (
            plan_of(env={"N": EnvVar(value=1, reason="", origin="")}),  # type: ignore[arg-type]
            "process 'server': the value of env N is of type int; allowed: a text",
        ),
        (plan_of(files={"conf.json": {"a": SECRET}}), "files is, or holds, what is no text; allowed: a table of texts"),
        (plan_of(headers=[SECRET]), "headers is, or holds, what is no text; allowed: a table of texts"),
        (plan_of(gpus=0), "process 'server': gpus is of type int; allowed: a tuple of whole numbers, also of a single one: (it,)"),
        (plan_of(readiness=SECRET), "process 'server': readiness is of type str; allowed: Readiness"),
        (replace(plan_of(), notes=SECRET), "notes is of type str; allowed: a tuple of texts, also of a single one: (it,)"),
        (replace(plan_of(), reads=("a", None)), "reads[1] is None; allowed: texts"),
        (replace(plan_of(), prepare=(SECRET,)), "prepare[0] is of type str; allowed: PrepareStep"),
        (replace(plan_of(), runtime=None), "runtime is None; allowed: a text"),
        (replace(plan_of(), image=[SECRET]), "image is of type list; allowed: a text or None"),
        (replace(plan_of(), ready_limit_s=SECRET), "ready_limit_s is of type str; allowed: seconds, a number"),
        (replace(plan_of(), stall_limit_s=SECRET), "stall_limit_s is of type str; allowed: seconds, a number or None"),
        (replace(plan_of(), ready_limit_s=float("inf")), "ready_limit_s is inf; allowed: seconds, from 0 on and with an end"),
        (replace(plan_of(), stall_limit_s=float("nan")), "stall_limit_s is nan; allowed: seconds, from 0 on and with an end"),
        (replace(plan_of(), stop_grace_s=-1), "stop_grace_s is -1; allowed: seconds, from 0 on and with an end"),
        (replace(plan_of(), api=SECRET), "api is not one of those that there are; allowed: chat, completions"),
        (replace(plan_of(), identity=SECRET), "identity is of type str; allowed: Identity"),
    ],
)
def test_what_is_wrong_is_told_without_its_value(plan, fault):
    assert plan_fault(plan) == fault
    assert SECRET not in plan_fault(plan)
