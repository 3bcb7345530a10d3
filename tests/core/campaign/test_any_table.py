"""Whatever stands in a file, it is a campaign or a list of faults: never a traceback."""

from __future__ import annotations

from copy import deepcopy
from datetime import date

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ixbench.campaign.campaign import Campaign
from ixbench.campaign.document import Document
from ixbench.campaign.read import campaign_from_document
from ixbench.model.errors import InputError
from ixbench.plan.expand import make_plan
from ixbench.plan.show import plan_json, plan_text

GOOD = {
    "schema": 1,
    "title": "t",
    "model": {"id": "m", "path": "p"},
    "hardware": {"sku": "mi355x", "gpus": 8, "absent": "fail"},
    "workload": {"use": "steady", "requests": 3, "length": "1m", "prompts": "x"},
    "defaults": {"max_num_seqs": 40, "env": {"A": "1"}, "args": {"--x": 1}},
    "deployment": [
        {
            "name": "a",
            "engine": "acme",
            "recipe": "big",
            "concurrency": [1, 9],
            "kv_offload": {"backend": "simple", "host_memory": "1 GB"},
            "at": {"1": {"max_num_seqs": 5, "env": {"B": {"value": 1, "reason": "r"}}}},
            "matrix": {"mode": ["fast", "careful"], "args.--y": [1, 2]},
            "gpus": [0, 1, 2, 3, 4, 5, 6, 7],
            "executable": "e",
            "image": "i",
            "api_key_env": "K",
        },
        {"engine": "plain", "url": "http://h:1/v1", "rate": [0.5, 1]},
    ],
    "report": {"rungs": [30, 50], "primary": 50, "axis": "p90", "scope": ["acme"], "use": ["cost"]},
    "prices": {"tiers": {"x": 1.5}},
    "run": {"retries": 1, "keep_engine": False},
    "runtime": {"use": "process"},
    "limits": {"errors": 0.5},
}


def places(value, prefix=()):
    yield prefix
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*prefix, key))


PLACES = sorted((place for place in places(GOOD) if place), key=str)
scalars = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(max_size=5),
    st.just(date(2026, 1, 1)),
    st.sampled_from(["acme", "plain", "big", "fast", "http://u:p@h", "1m", "a.b", "-c1"]),
)
key_names = st.text(max_size=4) | st.sampled_from(["1", "value", "at", "env"])
junk = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(key_names, inner, max_size=3), max_leaves=6)


@st.composite
def tables(draw):
    table = deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(PLACES))
        target = table
        try:
            for part in place[:-1]:
                target = target[part]
            if draw(st.booleans()):
                target[place[-1]] = draw(junk)
            elif isinstance(target, dict) and draw(st.booleans()):
                target[draw(st.text(max_size=6) | st.sampled_from(["concurrency", "rate", "url", "max_num_seqs", "at"]))] = draw(junk)
            else:
                del target[place[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return table


def test_the_table_to_be_changed_is_good(house):
    plan = make_plan(campaign_from_document(Document(where="t", table=deepcopy(GOOD)), house), house)
    assert len(plan.points) == 10


@given(table=tables())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_table_is_a_campaign_or_faults(house, table):
    before = deepcopy(table)
    try:
        campaign = campaign_from_document(Document(where="t", table=table), house)
    except InputError as error:
        faults = error.faults
        assert faults
        for fault in faults:
            assert "\n" not in str(fault)
            assert str(fault).startswith(("t: ", "recipe big of engine acme: "))
    else:
        assert isinstance(campaign, Campaign)
        try:
            plan = make_plan(campaign, house)
        except InputError:
            return
        assert len({point.id for point in plan.points}) == len(plan.points) > 0
        assert all(point.id == point.id.lower() for point in plan.points)
        assert sorted(point.id for point in plan.points) == sorted(name for launch in plan.launches for name in launch.points)
        assert plan_json(plan)
        assert plan_text(plan)
    assert repr(table) == repr(before), "the table given is left alone"
