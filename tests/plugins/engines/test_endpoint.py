"""A running server becomes a plan without processes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec
from ixbench.model.errors import InputError
from ixbench.model.launch import Identity
from ixbench_plugins.engines.endpoint import EndpointAdapter, EndpointOptions

ADAPTER = EndpointAdapter()
SECRET = "s3cr3t-value"


def deployment(*, options=None, **fields):
    given = {
        "name": "mine",
        "engine": "endpoint",
        "model": ModelSpec(id="acme/model", label="model"),
        "hardware": HardwareSpec(),
        "options": EndpointOptions.model_validate(options or {}),
        "url": "https://10.0.0.1:8443",
    }
    return Deployment(**{**given, **fields})


def codes(**fields):
    return [(finding.level, finding.code) for finding in ADAPTER.validate(deployment(**fields))]


def test_nothing_is_launched_and_nothing_is_claimed():
    plan = ADAPTER.plan(deployment(api_key_env="MY_KEY"))
    assert (plan.processes, plan.server, plan.image) == ((), None, None)
    assert (plan.url, plan.api, plan.served_model, plan.api_key_env) == ("https://10.0.0.1:8443", "chat", "acme/model", "MY_KEY")
    assert plan.told == Identity(spec_method="unknown", kv_offload="unknown")
    assert codes() == []


def test_without_a_model_the_server_is_asked():
    assert ADAPTER.plan(deployment(model=ModelSpec(id="", label=""))).served_model is None


def test_options_tell_how_to_talk_to_it():
    plan = ADAPTER.plan(
        deployment(options={"api": "completions", "served_name": "m", "headers": {"X-Tenant": SECRET}, "ca_file": "/etc/ca.pem"})
    )
    assert (plan.api, plan.served_model, plan.ca_file) == ("completions", "m", "/etc/ca.pem")
    assert plan.headers == {"X-Tenant": SECRET}


def test_header_values_do_not_show():
    given = deployment(options={"headers": {"X-Tenant": SECRET}})
    assert SECRET not in repr(given)
    assert SECRET not in given.options.model_dump_json()


def test_a_url_is_needed():
    (finding,) = ADAPTER.validate(deployment(url=None))
    assert finding.level == "error"
    with pytest.raises(InputError) as caught:
        ADAPTER.plan(deployment(url=None))
    assert str(caught.value) == f"mine: {finding.text}"
    assert "needs the url of a running server" in finding.text


def test_what_contradicts_itself():
    assert codes(url="http://10.0.0.1:8000", options={"ca_file": "/etc/ca.pem"}) == [("error", "ca_without_tls")]
    assert codes(api_key_env="KEY", options={"headers": {"authorization": "Bearer x"}}) == [("error", "two_keys")]
    assert codes(options={"headers": {"authorization": "Bearer x"}}) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"headers": {"Bad Name": "x"}}, "no name of a header"),
        ({"headers": {"": "x"}}, "no name of a header"),
        ({"headers": {"X-A": "x\r\nX-B: y"}}, "line break"),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "twice"),
        ({"headers": {"Content-Length": "5"}}, "set by ixbench itself"),
        ({"api": "responses"}, "'chat' or 'completions'"),
        ({"tensor_parallel": 8}, "Extra inputs"),
    ],
)
def test_values_that_can_not_be_are_refused_without_being_shown(options, message):
    with pytest.raises(ValidationError, match=message):
        EndpointOptions.model_validate(options)
