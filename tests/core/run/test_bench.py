"""`ixbench bench` as a campaign: what each flag becomes, every wrong value, and when doubling the load stops."""

from __future__ import annotations

import pytest

from ixbench.campaign.read import campaign_from_document
from ixbench.host.load import load_host
from ixbench.model.errors import InputError
from ixbench.model.result import Failure
from ixbench.run.bench import DEFAULT_KEY_VARIABLE, LARGEST_CONCURRENCY, BenchRequest, bench_document, bench_table, stops_growing
from ixbench.testing.runs import sample_point

URL = "http://127.0.0.1:8000"


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv(DEFAULT_KEY_VARIABLE, raising=False)


@pytest.fixture(scope="module")
def host():
    return load_host()


def table(**fields):
    return bench_table(BenchRequest(url=URL, **fields))


def test_a_url_alone_is_enough(host):
    assert table() == {
        "schema": 1,
        "title": "bench endpoint",
        "workload": {"use": "fixed", "input_tokens": 512, "output_tokens": 128},
        "deployment": [{"engine": "endpoint", "url": URL, "concurrency": [2**power for power in range(11)]}],
    }
    assert table()["deployment"][0]["concurrency"][-1] == LARGEST_CONCURRENCY
    campaign = campaign_from_document(bench_document(BenchRequest(url=URL), host), host)
    assert (campaign.where, campaign.workload, campaign.hardware.gpus) == ("bench", "fixed", None)


def test_every_flag_finds_its_place():
    made = table(
        model="acme/big",
        concurrency="1, 4,16",
        requests="200",
        settings=("input_tokens=2048", "ratio=0.8", 'arrival="constant"', "output_tokens = 7"),
        gpus="8",
        sku="mi355x",
        usd_per_gpu_hour="2.5",
        engine="vllm",
        api_key_env="MY_KEY",
        headers=("X-Team: blue:green", "X-Empty:"),
    )
    assert made == {
        "schema": 1,
        "title": "bench acme/big",
        "model": {"id": "acme/big"},
        "hardware": {"sku": "mi355x", "gpus": 8},
        "prices": {"tiers": {"custom": 2.5}},
        "workload": {"use": "fixed", "input_tokens": 2048, "output_tokens": 7, "ratio": 0.8, "arrival": "constant", "requests": 200},
        "deployment": [
            {
                "engine": "vllm",
                "url": URL,
                "concurrency": [1, 4, 16],
                "api_key_env": "MY_KEY",
                "headers": {"X-Team": "blue:green", "X-Empty": ""},
            }
        ],
    }


def test_another_workload_has_no_lengths_of_its_own():
    assert table(duration="90")["workload"]["duration"] == 90, "a number is one of seconds, as in a file"
    assert table(workload="prompts", settings=("file=mine.jsonl",), duration="90s")["workload"] == {
        "use": "prompts",
        "file": "mine.jsonl",
        "duration": "90s",
    }


def test_the_usual_key_is_used_where_it_is_set(monkeypatch):
    monkeypatch.setenv(DEFAULT_KEY_VARIABLE, "k")
    assert table()["deployment"][0]["api_key_env"] == DEFAULT_KEY_VARIABLE
    assert table(api_key_env="MINE")["deployment"][0]["api_key_env"] == "MINE"
    monkeypatch.setenv(DEFAULT_KEY_VARIABLE, "")
    assert "api_key_env" not in table()["deployment"][0]


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        ({"concurrency": "0"}, ["--concurrency: '0' is no count; allowed: a whole number from 1"]),
        ({"concurrency": ""}, ["--concurrency: '' is no count; allowed: a whole number from 1"]),
        ({"concurrency": "1,,x"}, [f"--concurrency: {text!r} is no count; allowed: a whole number from 1" for text in ("", "x")]),
        ({"concurrency": "1.5"}, ["--concurrency: '1.5' is no count; allowed: a whole number from 1"]),
        ({"concurrency": "4,4"}, ["--concurrency: found 4 twice; allowed: each value once"]),
        ({"requests": "-1"}, ["--requests: '-1' is no count; allowed: a whole number from 1"]),
        ({"requests": "many"}, ["--requests: 'many' is no count; allowed: a whole number from 1"]),
        ({"gpus": "0"}, ["--gpus: '0' is no count; allowed: a whole number from 1"]),
        ({"usd_per_gpu_hour": "nan"}, ["--usd-per-gpu-hour: 'nan' is no price; allowed: a number above 0"]),
        ({"usd_per_gpu_hour": "inf"}, ["--usd-per-gpu-hour: 'inf' is no price; allowed: a number above 0"]),
        ({"usd_per_gpu_hour": "-2"}, ["--usd-per-gpu-hour: '-2' is no price; allowed: a number above 0"]),
        ({"usd_per_gpu_hour": "cheap"}, ["--usd-per-gpu-hour: 'cheap' is no price; allowed: a number above 0"]),
        ({"settings": ("x",)}, ["--set: 'x' has no value; allowed: KEY=VALUE"]),
        ({"settings": ("=3",)}, ["--set: '=3' has no value; allowed: KEY=VALUE"]),
        ({"headers": ("secret-without-colon",)}, ["--header: a header has no colon, or no name before it; allowed: NAME:VALUE"]),
        ({"headers": (": value",)}, ["--header: a header has no colon, or no name before it; allowed: NAME:VALUE"]),
        ({"headers": ("A: 1", "A: 2")}, ["--header: 'A' is given twice; allowed: each header once"]),
        (
            {"gpus": "x", "requests": "y"},
            [f"--{flag}: {text!r} is no count; allowed: a whole number from 1" for flag, text in (("requests", "y"), ("gpus", "x"))],
        ),
    ],
)
def test_a_wrong_value_is_one_sentence_that_names_its_flag(host, fields, sentences):
    with pytest.raises(InputError) as caught:
        campaign_from_document(bench_document(BenchRequest(url=URL, **fields), host), host)
    assert [str(fault) for fault in caught.value.faults] == sentences


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        ({"url": "ftp://x"}, "URL: 'ftp://x' is no URL of a server"),
        ({"engine": "vlm"}, "--engine: unknown engine 'vlm'"),
        ({"workload": "fixd"}, "--workload: unknown workload 'fixd'"),
        ({"sku": "mi355"}, "--sku: unknown SKU 'mi355'"),
        ({"duration": "soon"}, "--duration: 'soon' is no duration"),
        ({"api_key_env": "9x"}, "--api-key-env: '9x' is no name of an environment variable"),
        ({"settings": ("input_tokens=0",)}, "--set input_tokens: found 0"),
        ({"settings": ("input_tokns=9",)}, "--set input_tokns: unknown key; did you mean 'input_tokens'?"),
        ({"settings": ("requests=5",), "duration": "9s"}, "--set: requests and duration are both given"),
        ({"workload": "prompts"}, "--set file: missing"),
        ({"engine": "vllm", "headers": ("X: 1",)}, "--header: engine 'vllm' takes no headers; allowed: --engine endpoint"),
        ({"headers": ("Host: x",)}, "--header: 'Host' is set by ixbench itself"),
    ],
)
def test_what_the_campaign_refuses_is_told_by_the_flag_too(host, fields, start):
    with pytest.raises(InputError) as caught:
        campaign_from_document(bench_document(BenchRequest(**({"url": URL} | fields)), host), host)
    (fault,) = caught.value.faults
    assert str(fault).startswith(start)


def results(*rates, failure=None):
    points = [
        sample_point(f"e-c{2**index}", speed_tok_s_user=50.0, rate_tok_s_gpu=None, rate_tok_s=rate) for index, rate in enumerate(rates)
    ]
    if failure is not None:
        points.append(sample_point("e-c64", speed_tok_s_user=None, rate_tok_s_gpu=None, failure=failure))
    return points


@pytest.mark.parametrize(
    ("rates", "stops"),
    [
        ((), False),
        ((100.0,), False),
        ((100.0, 190.0), False),
        ((100.0, 105.0), False),
        ((100.0, 104.9), True),
        ((100.0, 90.0), True),
        ((100.0, 190.0, 195.0), True),
        ((100.0, 90.0, 180.0), False),
        ((None,), True),
        ((100.0, None), True),
    ],
)
def test_doubling_goes_on_while_it_brings_five_per_cent(rates, stops):
    assert stops_growing(results(*rates)) is stops


def test_a_failed_point_ends_the_doubling():
    assert stops_growing(results(100.0, 190.0, failure=Failure(code="oom", cause="no memory", fix="")))
