"""AMD's Device Metrics Exporter in place of amd-smi: its page is read in its own units, and may fail now and then."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbench.api.engine import InputError
from ixbench.campaign.json_schema import campaign_schema
from ixbench.campaign.read import read_campaign
from ixbench.host.load import load_host
from ixbench.testing.records import sample_measurement
from ixbench_plugins.collectors import amd_exporter
from ixbench_plugins.collectors.amd import AmdCollector
from ixbench_plugins.collectors.amd_exporter import page_samples
from ixbench_plugins.collectors.amd_options import AmdOptions

FILE = """
schema = 1
[workload]
use = "fixed"
input_tokens = 16
output_tokens = 4
requests = 30
[[deployment]]
engine = "llamacpp"
concurrency = 1
"""


def page(gpus=2, *, prefix="", watts=750.0, uj=1.4e17, power="gpu_package_power"):
    values = {power: watts, "gpu_junction_temperature": 76, "gpu_gfx_activity": 97, "gpu_used_vram": 1024, "gpu_energy_consumed": uj}
    lines = []
    for name, value in values.items():
        lines.append(f"# TYPE {prefix}{name} gauge")
        lines += [f'{prefix}{name}{{gpu_id="{gpu}",card_model="Instinct MI355X",hostname="a"}} {value!r}' for gpu in range(gpus)]
    return "\n".join([*lines, "# TYPE gpu_health gauge", 'gpu_health{gpu_id="0"} 1', ""]).encode()


class Exporter:
    """A page whose energy counters grow as its power says, or as a test says what it answers."""

    def __init__(self):
        self.began = time.monotonic()
        self.fails = False
        self.make = lambda told_s: page(uj=1e12 + 750e6 * told_s)
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = exporter.make(time.monotonic() - exporter.began)
                self.send_response(503 if exporter.fails or self.path != "/metrics" else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/metrics"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def exporter():
    found = Exporter()
    yield found
    found.close()


async def no_load(_running):
    """End at once."""


@pytest.fixture
def collector(tmp_path, tools):
    del tools
    return AmdCollector(kfd=tmp_path, root=tmp_path)


@pytest.mark.parametrize("prefix", ["", "amd_"])
@pytest.mark.parametrize("power", ["gpu_package_power", "gpu_average_package_power"])
def test_a_page_in_its_own_units(prefix, power):
    samples = page_samples(page(prefix=prefix, power=power), (1,), 7)
    assert {sample.name: sample.value for sample in samples} == {
        "power_w": 750,
        "temperature_c": 76,
        "activity_share": pytest.approx(0.97),
        "vram_used_bytes": 2**30,
        "energy_j": pytest.approx(1.4e11),
    }
    assert {(sample.source, sample.ns, sample.labels["gpu"]) for sample in samples} == {("amd", 7, "1")}


def test_power_at_this_moment_comes_before_a_mean():
    both = page() + page(power="gpu_average_package_power", watts=10)
    assert {sample.value for sample in page_samples(both, (), 7) if sample.name == "power_w"} == {750}


@given(st.binary(max_size=300))
def test_whatever_a_page_holds_it_breaks_nothing(noise):
    assert isinstance(page_samples(noise, (), 7), list)
    assert {sample.labels["gpu"] for sample in page_samples(page() + b"\n" + noise, (), 7)} >= {"0", "1"}


@pytest.mark.anyio
async def test_a_load_is_covered_and_checked_by_the_counters(exporter, collector, sample_load):
    async def load(_running):
        load.began_ns = time.monotonic_ns()
        await anyio.sleep(1.5)
        load.ended_ns = time.monotonic_ns()

    samples, failure, facts = await sample_load(collector, load, gpus=(0, 1), options=AmdOptions(exporter=exporter.url), on_host=False)
    assert failure is None
    read = lambda names: [sample for sample in samples if sample.name in names]  # noqa: E731 - short
    energy = sample_measurement([], gpus=2, start_ns=load.began_ns, end_ns=load.ended_ns, read_samples=read).energy
    assert energy.valid, energy.reasons
    assert energy.joules == pytest.approx(2 * 750 * (load.ended_ns - load.began_ns) / 1e9)
    assert energy.counter_error_share < 0.05
    assert facts["cpu_s"] > 0


@pytest.mark.anyio
async def test_a_page_that_is_not_there_is_a_warning(exporter, collector, sample_load):
    for url, said in (
        (f"{exporter.url}s", "answers status 503"),
        ("http://127.0.0.1:9/metrics", "cannot be read"),
    ):
        samples, failure, _ = await sample_load(collector, no_load, options=AmdOptions(exporter=url))
        assert samples == []
        assert failure.startswith(url)
        assert said in failure


@pytest.mark.anyio
async def test_a_page_without_power_of_the_launchs_gpus_is_a_warning(exporter, collector, sample_load):
    _, failure, _ = await sample_load(collector, no_load, gpus=(6, 7), options=AmdOptions(exporter=exporter.url))
    assert failure == f"{exporter.url} does not tell the power of GPU 6, 7"


@pytest.mark.anyio
async def test_some_readings_may_be_missed_and_many_in_a_row_may_not(exporter, collector, sample_load, monkeypatch):
    monkeypatch.setattr(AmdCollector, "interval_s", 0.02)

    async def hiccup(_running):
        exporter.fails = True
        await anyio.sleep(0.1)
        exporter.fails = False
        await anyio.sleep(0.3)

    monkeypatch.setattr(amd_exporter, "MISSES_LIMIT", 1000)
    _, failure, _ = await sample_load(collector, hiccup, options=AmdOptions(exporter=exporter.url))
    assert failure is None

    async def death(running):
        exporter.fails = True
        with anyio.fail_after(20):
            while not running.failures:  # noqa: ASYNC110 - a table tells, not an event
                await anyio.sleep(0.01)

    monkeypatch.setattr(amd_exporter, "MISSES_LIMIT", 3)
    samples, failure, _ = await sample_load(collector, death, options=AmdOptions(exporter=exporter.url))
    assert failure == f"{exporter.url} answers status 503"
    assert samples


@pytest.fixture(scope="module")
def host():
    return load_host()


@pytest.fixture
def read(tmp_path, host):
    def one(tables, *, top=""):
        path = tmp_path / "benchmarks.toml"
        path.write_text(top + FILE + tables)
        return read_campaign(path, host)

    return one


def test_the_key_of_the_campaign(read, host):
    assert read("").collectors == {}
    found = read('[collectors.amd]\nexporter = "http://node7:5000"\n').collectors
    assert found == {"amd": AmdOptions(exporter="http://node7:5000/metrics")}
    assert read('[collectors.amd]\nexporter = "https://node7/a?b=c"\n').collectors["amd"].exporter == "https://node7/a?b=c"
    assert read("[collectors.amd]\n").collectors == {"amd": AmdOptions()}
    assert read('[collectors.amd]\nexporter = "http://a:1/m"\n').hash != read("").hash
    keys = campaign_schema(host)["properties"]["collectors"]["properties"]
    assert set(keys["amd"]["properties"]) == {"exporter"}


WRONG = [
    ('[collectors.amd]\nexport = "x"', "collectors.amd.export: unknown key; did you mean 'exporter'?"),
    ("[collectors.amd]\nexporter = 5", "collectors.amd.exporter: found 5; allowed: a text"),
    ('[collectors.amd]\nexporter = "node7:5000"', "is no URL of a metrics page; allowed: http://HOST:5000/metrics"),
    ('[collectors.amd]\nexporter = "http://[::1"', "is no URL"),
    ('[collectors.amd]\nexporter = "http://me:pw@node7:5000"', "it has a user in it"),
    ("[collectors.amdd]", "collectors.amdd: unknown collector 'amdd'; allowed: amd, host, nvidia, prometheus; did you mean 'amd'?"),
    ("[collectors.host]\ninterval = 1", "collectors.host.interval: unknown key: the collector 'host' has none"),
    ("[collectors]\namd = 1", "collectors.amd: found 1; allowed: a table"),
]


@pytest.mark.parametrize(("tables", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_keys_are_one_sentence_each(read, tables, said):
    with pytest.raises(InputError) as refused:
        read(tables)
    assert said in str(refused.value)
    assert "pw" not in str(refused.value)
    assert len(refused.value.faults) == 1


def test_what_is_no_table_is_refused(read):
    with pytest.raises(InputError, match="collectors: found 1; allowed: a table"):
        read("", top="collectors = 1\n")
