"""What doctor says of recorded machines, and of each limit."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from ixbench.api.engine import GpuHolder, HardwareBook
from ixbench.launch.leftover import Leftover
from ixbench.run import doctor
from ixbench.run.doctor import ABSENT, GIB, Machine, examine, is_fit
from ixbench_plugins.hardware import amd_smi, rocm_smi
from ixbench_plugins.hardware.book import ShippedHardware


@pytest.fixture
def machine(shared, tmp_path):
    """Return a maker of machines: a recorded topology whose tools answer with recorded files, and a root of files."""
    rocm = shared / "data" / "rocm"

    def make(case="mi355x-8", tools=None, environ=None, **changes):
        answers = {command: (rocm / name).read_text() for command, name in (tools or {}).items()}
        variables = environ or {}
        book = ShippedHardware(kfd=rocm / "kfd" / case, nvidia=Path("/nonexistent"), root=tmp_path, ask=answers.get, environ=variables)
        settings = {"root": tmp_path, "environ": variables, "results": tmp_path / "results", "ask": lambda _: (ABSENT, "")}
        return Machine(books=(book,), **(settings | changes))

    return make


def by_id(machine):
    found = examine(machine)
    assert len({checkup.id for checkup in found}) == len(found)
    assert all(checkup.value for checkup in found)
    assert all(checkup.advice for checkup in found if checkup.status in {"warning", "problem"})
    return {checkup.id: checkup for checkup in found}


def test_free_gpus_that_are_whole(machine):
    tools = {amd_smi.MEMORY: "amd_smi_metric_numbers.json", amd_smi.PROCESS: "amd_smi_process_none_gpu_data.json"}
    found = by_id(machine(tools=tools))
    assert found["accelerators"].value == "8 x AMD MI355X (gfx950)"
    assert [found[name].status for name in ("partitions", "fp4", "gpu_memory", "gpu_processes", "visibility")] == ["ok"] * 5
    assert found["gpu_memory"].value == "free, at most 0.1% in use"
    assert found["fp4"].value == "yes"
    assert {"memlock", "stack"} <= found.keys()


def test_gpus_that_an_earlier_engine_holds_are_a_problem(machine):
    tools = {amd_smi.MEMORY: "amd_smi_metric_strings.json", amd_smi.LIST_OLD: "amd_smi_list_plain.json"}
    found = by_id(machine(tools=tools | {amd_smi.PROCESS: "amd_smi_process_plain.json"}))
    assert found["gpu_memory"].status == "problem"
    assert found["gpu_memory"].value == "GPU 5 (0000:95:00.0) 245.1 of 288 GiB; held by VLLM::Worker_TP5 (pid 4477)"
    assert found["gpu_processes"].status == "warning"
    assert not is_fit(found.values())


def test_a_missing_tool_is_unknown_and_no_excuse(machine):
    found = by_id(machine())
    assert (found["gpu_memory"].status, found["gpu_processes"].status, found["mec_firmware"].status) == ("unknown",) * 3
    assert "amd-smi" in found["gpu_memory"].advice


def test_split_gpus_are_a_problem(machine):
    found = by_id(machine(case="mi355x-8-cpx"))["partitions"]
    assert (found.status, found.value) == ("problem", "8 GPUs split into 64 devices")


def test_gpus_without_fp4_say_so(machine):
    found = by_id(machine(case="mi300x-8", tools={rocm_smi.FIRMWARE: "rocm_smi_showfw_178.txt"}))
    assert (found["fp4"].status, found["fp4"].value.partition(";")[0]) == ("ok", "no")
    assert found["mec_firmware"].status == "ok"


@pytest.mark.parametrize("case", ["no-gpu", "no-kfd"])
def test_a_machine_without_gpus_is_asked_nothing_about_them(machine, case):
    found = by_id(machine(case=case))
    assert found["accelerators"].value.startswith("none; engines run on the CPU, ")
    gone = {"partitions", "fp4", "gpu_memory", "gpu_processes", "mec_firmware", "numa_balancing", "kfd_access", "memlock", "visibility"}
    assert not gone & found.keys()


def test_visibility_variables(machine):
    one, two = {"HIP_VISIBLE_DEVICES": "0,1"}, {"ROCR_VISIBLE_DEVICES": "4,5", "HIP_VISIBLE_DEVICES": "4,5"}
    assert by_id(machine(environ=one))["visibility"].status == "warning"
    found = by_id(machine(environ=two))["visibility"]
    assert (found.status, found.value) == ("problem", "ROCR_VISIBLE_DEVICES='4,5', HIP_VISIBLE_DEVICES='4,5'")
    assert by_id(machine(case="no-gpu", environ=two))["visibility"].status == "problem"


def test_a_book_that_breaks_leaves_the_rest_to_be_examined(machine):
    class Broken(HardwareBook):
        name = "broken"

        def skus(self):
            return ()

        def detect(self):
            raise RuntimeError

        def checkups(self):
            raise RuntimeError

    base = machine(case="no-gpu")
    found = by_id(Machine(books=(*base.books, Broken()), root=base.root, environ={}, results=base.results, ask=base.ask))
    assert found["broken_checks"].status == "unknown"


@pytest.mark.parametrize(
    ("check", "status"),
    [
        (doctor.open_files(1024), "warning"),
        (doctor.open_files(65_535), "ok"),
        (doctor.open_files(resource.RLIM_INFINITY), "ok"),
        (doctor.memlock(8 * 2**20), "warning"),
        (doctor.memlock(resource.RLIM_INFINITY), "ok"),
        (doctor.stack(8 * 2**20), "warning"),
        (doctor.stack(64 * 2**20), "ok"),
        (doctor.gpu_processes(None), "unknown"),
        (doctor.gpu_processes([]), "ok"),
        (doctor.gpu_processes([GpuHolder(pid=1, name="x")]), "warning"),
    ],
)
def test_limits(check, status):
    assert check.status == status
    assert bool(check.advice) == (status == "warning")


def test_governors(tmp_path):
    assert doctor.governor(tmp_path).status == "unknown"
    for core, name in enumerate(["performance", "performance", "powersave"]):
        path = tmp_path / f"cpu{core}" / "cpufreq" / "scaling_governor"
        path.parent.mkdir(parents=True)
        path.write_text(f"{name}\n")
    found = doctor.governor(tmp_path)
    assert (found.status, found.value) == ("warning", "performance (2 cores), powersave (1 core)")
    path.write_text("performance\n")
    assert doctor.governor(tmp_path).status == "ok"


@pytest.mark.parametrize(("text", "status"), [("0.50 1.0 1.0 1/100 7\n", "ok"), ("2.50 0 0 1/1 7\n", "warning"), ("", "unknown")])
def test_load(tmp_path, text, status):
    (tmp_path / "loadavg").write_text(text)
    assert doctor.load(tmp_path / "loadavg", cores=4).status == status


def test_shared_memory(tmp_path, monkeypatch):
    assert doctor.shared_memory(tmp_path / "absent", gpus=True).status == "problem"
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: type("Usage", (), {"total": 64 * 2**20, "free": 60 * 2**20})())
    found = doctor.shared_memory(tmp_path, gpus=True)
    assert (found.status, found.value) == ("warning", "0.1 GiB, 0.1 GiB free")
    assert "--shm-size" in found.advice


@pytest.mark.parametrize(("free", "status"), [(0.5, "problem"), (5, "warning"), (50, "ok")])
def test_disk(tmp_path, monkeypatch, free, status):
    asked = []
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: (asked.append(path), type("Usage", (), {"free": free * GIB})())[1])
    assert doctor.disk(tmp_path / "not" / "there").status == status
    assert asked == [tmp_path]


@pytest.mark.parametrize(
    ("answer", "status", "value"),
    [
        ((0, "28.1.0\n"), "ok", "version 28.1.0"),
        ((ABSENT, ""), "ok", "not installed"),
        ((1, ""), "warning", "is installed and does not work for this user"),
        ((0, ""), "warning", "is installed and does not work for this user"),
        ((None, ""), "warning", "does not answer in time"),
    ],
)
def test_container_runtimes(answer, status, value):
    found = doctor.container_runtime("docker", ("docker", "version"), lambda _: answer)
    assert (found.status, found.value) == (status, value)


def test_commands_are_asked_for_real(monkeypatch):
    assert doctor.ask_command(("ixbench-no-such-command",)) == (ABSENT, "")
    assert doctor.ask_command(("echo", "28.1", "; rm")) == (0, "28.1 ; rm")
    monkeypatch.setattr(doctor, "ASK_LIMIT_S", 0.05)
    assert doctor.ask_command(("sleep", "30")) == (None, "")


def test_leftovers():
    stray = Leftover(marker="m", launch_id="vllm-1", engine="vllm", folder="/r", pids=(7, 8), ports=(21000,))
    folder = Leftover(marker="n", launch_id="vllm-2", engine="", folder="", pids=(), tmp="/tmp/ixbench-x")
    kept = Leftover(marker="k", launch_id="vllm-3", engine="vllm", folder="/r", pids=(9,), kept=True)
    assert doctor.left_behind([]).status == "ok"
    found = doctor.left_behind([kept, stray])
    assert (found.status, found.advice) == ("problem", "end and remove them: ixbench doctor --clean")
    assert found.value == "launch vllm-1 (vllm): processes 7, 8, ports 21000; launch vllm-3 (vllm), kept on purpose: processes 9"
    assert doctor.left_behind([folder]).status == "warning"
    only_kept = doctor.left_behind([kept])
    assert (only_kept.status, only_kept.advice) == ("warning", "they were kept on purpose; end them with: kill 9")
