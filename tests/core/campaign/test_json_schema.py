"""The JSON Schema that editors use says the same as the reader."""

from __future__ import annotations

import pytest

from ixbench.campaign.json_schema import _any_of, campaign_schema
from ixbench.campaign.schema import CampaignTable, DeploymentTable
from ixbench.campaign.validate import field_names


@pytest.fixture(scope="module")
def schema(house):
    return campaign_schema(house)


def parts(value):
    """Yield a schema and everything inside it."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from parts(part)


def test_every_reference_leads_somewhere_and_every_definition_is_used(schema):
    references = {part["$ref"] for part in parts(schema) if isinstance(part, dict) and isinstance(part.get("$ref"), str)}
    assert references == {f"#/$defs/{name}" for name in schema["$defs"]}


def test_the_top_has_the_tables_of_the_file(schema):
    assert set(schema["properties"]) == set(field_names(CampaignTable))
    assert sorted(schema["required"]) == ["deployment", "schema", "workload"]
    assert schema["additionalProperties"] is False


def test_deployments_have_fixed_keys_and_the_options_of_their_engine(schema):
    acme, plain = schema["properties"]["deployment"]["items"]["anyOf"]
    assert (acme["properties"]["engine"]["const"], plain["properties"]["engine"]["const"]) == ("acme", "plain")
    assert set(plain["properties"]) == {*field_names(DeploymentTable), "max_num_seqs"}
    assert {"kv_offload", "tensor_parallel"} < set(acme["properties"])
    assert acme["additionalProperties"] is False
    assert acme["properties"]["tensor_parallel"]["description"] == "GPUs that share a layer."
    (at,) = acme["properties"]["at"]["patternProperties"].values()
    assert "kv_offload" in at["properties"]
    assert "concurrency" not in at["properties"]


def test_defaults_have_the_options_of_all_engines(schema):
    defaults = schema["properties"]["defaults"]["properties"]
    assert {"mode", "max_num_seqs", "args", "concurrency"} <= set(defaults)
    assert not {"engine", "url", "name"} & set(defaults)


def test_a_key_that_several_engines_have_means_what_each_says():
    same, other = {"type": "integer", "description": "Users."}, {"type": "integer", "description": "Slots."}
    assert _any_of([("a", same), ("b", same)]) == same
    assert _any_of([("a", same), ("b", other), ("c", same)]) == {"description": "a, c: Users. b: Slots.", "type": "integer"}
    words = {"type": "string"}
    assert _any_of([("a", same), ("b", words)]) == {"description": "Users.", "anyOf": [{"type": "integer"}, words]}
    assert _any_of([("a", words), ("b", words)]) == words


def test_workloads_have_their_own_options(schema):
    found = {form["properties"]["use"]["const"]: form for form in schema["properties"]["workload"]["anyOf"]}
    assert set(found) == {"steady", "agents"}
    assert set(found["steady"]["properties"]) == {"use", "requests", "prompts", "length"}
    assert found["steady"]["properties"]["length"]["anyOf"] == [{"type": "number"}, {"type": "string"}], "durations may be texts"


def test_there_is_no_null(schema):
    assert not [part for part in parts(schema) if part is None or (isinstance(part, dict) and part.get("type") == "null")]
