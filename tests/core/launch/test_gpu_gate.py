"""A launch waits for its GPUs, says who holds them, and never takes the unknown for free."""

from __future__ import annotations

import json

import pytest

from ixbench.api.engine import DetectedGpu, GpuHolder, GpuMemory, HardwareBook, ProcessPlan, Sku
from ixbench.api.hooks import hookimpl
from ixbench.host.host import Host
from ixbench.launch.engine import start_engine
from ixbench.launch.errors import EngineError
from ixbench.launch.gpu_gate import GpuGate, busy_gpus, gate_for, is_busy
from ixbench.model.launch import LaunchPlan

GIB = 2**30
MI355X = Sku(sku="mi355x", name="MI355X", vendor="AMD")
CPU = Sku(sku="cpu", name="CPU", vendor="any")

pytestmark = pytest.mark.anyio


def memory(index, used, total=100):
    return GpuMemory(index=index, name=f"GPU {index}", used_bytes=used * GIB, total_bytes=total * GIB)


class FakeBook(HardwareBook):
    """A machine with two GPUs whose readings follow a script; the last one stays."""

    name = "fake"

    def __init__(self, *readings, holders=(), gpus=2):
        self.readings = list(readings)
        self.asked = 0
        self._holders = holders
        self._gpus = gpus

    def skus(self):
        return (MI355X, CPU)

    def detect(self):
        return tuple(DetectedGpu(index=index, sku="mi355x", name="AMD MI355X", memory_bytes=None) for index in range(self._gpus))

    def memory_used(self):
        self.asked += 1
        found = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        if isinstance(found, Exception):
            raise found
        return found

    def holders(self):
        return self._holders


def gate(book, **changes):
    class Plugin:
        @hookimpl
        def ixbench_hardware(self):
            return [book]

    host = Host.of({"fake": Plugin()})
    settings = {"free_limit_s": 0.05, "release_limit_s": 0.05, "poll_s": 0.01} | changes
    return GpuGate(books=host.hardware(), **settings)


FREE = (memory(0, 0), memory(1, 10))
BUSY = (memory(0, 0), memory(1, 91))


@pytest.mark.parametrize(("used", "busy"), [(0, False), (10, False), (11, True), (100, True)])
def test_a_tenth_may_be_used(used, busy):
    assert is_busy(memory(0, used)) is busy


def test_only_the_gpus_of_the_launch_matter_where_indices_are_known():
    assert busy_gpus(BUSY, (0,)) == ()
    assert busy_gpus(BUSY, (1,)) == busy_gpus(BUSY, ()) == (BUSY[1],)
    nameless = (memory(None, 91), memory(None, 0))
    assert busy_gpus(nameless, (7,)) == (nameless[0],)


def test_a_launch_has_a_gate_if_it_starts_something_on_gpus():
    server = LaunchPlan(engine="e", processes=(ProcessPlan(name="s", argv=("x",), gpus=(2, 3)),), served_model=None)
    books = (FakeBook(FREE),)
    assert gate_for(server, MI355X, 2, books).gpus == (2, 3)
    assert gate_for(server, None, None, books).gpus == (2, 3)
    assert gate_for(server, CPU, 1, books) is None
    assert gate_for(LaunchPlan(engine="e", processes=(), served_model=None, url="http://127.0.0.1:1"), MI355X, 2, books) is None
    nothing_said = LaunchPlan(engine="e", processes=(ProcessPlan(name="s", argv=("x",)),), served_model=None)
    assert gate_for(nothing_said, None, None, books) is None
    assert gate_for(nothing_said, MI355X, 8, books).gpus == ()


async def test_free_gpus_pass_at_once_and_without_a_word():
    assert await gate(FakeBook(FREE)).wait_free() == ()


async def test_it_waits_until_they_are_free_and_says_so():
    told = []
    notes = await gate(FakeBook(BUSY, BUSY, FREE), free_limit_s=30).wait_free(lambda _, line: told.append(line))
    assert told == ["waiting for the GPUs to be free: GPU 1 91.0 of 100 GiB"] * 2
    (note,) = notes
    assert note.startswith("waited ")


async def test_who_holds_them_is_named_when_it_gives_up():
    holders = (GpuHolder(pid=4477, name="VLLM::Worker_TP1", gpus=("GPU 1",)), GpuHolder(pid=5, name="other", gpus=("GPU 0",)))
    with pytest.raises(EngineError) as caught:
        await gate(FakeBook(BUSY, holders=holders)).wait_free()
    failure = caught.value.failure
    assert failure.code == "gpu_dirty"
    assert failure.cause == "The GPUs were not free within 0.05 s: GPU 1 91.0 of 100 GiB; held by VLLM::Worker_TP1 (pid 4477)."
    assert "ixbench doctor" in failure.fix


async def test_in_a_container_the_holder_may_be_out_of_sight():
    with pytest.raises(EngineError, match="no process that holds it is visible from here"):
        await gate(FakeBook(BUSY, holders=None)).wait_free()


@pytest.mark.parametrize("reading", [None, RuntimeError("the driver is gone")])
async def test_the_unknown_is_said_and_never_taken_for_free(reading):
    (note,) = await gate(FakeBook(reading)).wait_free()
    assert note.startswith("how full the GPUs are is unknown: ")
    assert "book fake" in note


async def test_a_machine_without_gpus_has_none_to_ask():
    book = FakeBook(None, gpus=0)
    assert await gate(book).wait_free() == ()
    assert book.asked == 0


async def test_memory_must_come_back_after_the_end():
    await gate(FakeBook(BUSY, FREE), release_limit_s=30).wait_released()
    await gate(FakeBook(None)).wait_released()
    with pytest.raises(EngineError, match=r"GPU memory was not free 0\.05 s after the engine had ended: GPU 1"):
        await gate(FakeBook(BUSY)).wait_released()


@pytest.fixture
def start(runtime, folder):
    return lambda plan, book, **changes: start_engine("l", plan, runtime=runtime, folder=folder, signatures=(), gate=gate(book, **changes))


async def test_nothing_starts_on_gpus_that_are_held(start, server, launch_plan, folder):
    with pytest.raises(EngineError, match="were not free"):
        async with start(launch_plan(server()), FakeBook(BUSY)):
            raise AssertionError("it must not get here")
    record = json.loads((folder / "launch.json").read_text())
    assert (record["failure"]["code"], record["processes"]) == ("gpu_dirty", [])


async def test_an_engine_whose_memory_stays_is_a_failure_of_its_launch(start, server, launch_plan, folder):
    with pytest.raises(EngineError, match="after the engine had ended"):
        async with start(launch_plan(server()), FakeBook(FREE, BUSY)) as engine:
            assert engine.failure() is None
    record = json.loads((folder / "launch.json").read_text())
    assert record["failure"]["code"] == "gpu_dirty"
    assert record["stopped"] is not None


async def test_what_is_unknown_stands_in_the_launch_record(start, server, launch_plan, folder):
    async with start(launch_plan(server()), FakeBook(None)) as engine:
        assert any("unknown" in note for note in engine.notes)
    assert any("unknown" in note for note in json.loads((folder / "launch.json").read_text())["notes"])
