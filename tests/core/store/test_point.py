"""Torn ends, foreign names and refusals: what a point's folder takes and what it does not."""

from __future__ import annotations

import os
import subprocess

import pytest

from ixbench.model.errors import InputError, IxbenchError
from ixbench.model.record import Chunks, RequestRecord
from ixbench.model.sample import Sample
from ixbench.model.secrets import Redactor
from ixbench.store.lines import LONGEST_LINE_BYTES
from ixbench.store.names import is_plain_name
from ixbench.store.point import PointWriter, is_sealed, read_point_records, read_point_samples, read_result
from ixbench.testing.runs import sample_point


def record(number: int) -> RequestRecord:
    return RequestRecord(
        req_id=f"r{number}",
        phase="profile",
        session_id="s",
        tree_id="t",
        lane=0,
        chunks=Chunks.of([(10 * number, "role", None, 60), (10 * number + 5, "text", 1, 200)]),
    )


def unsealed(folder, count=3):
    with PointWriter(folder, Redactor()) as writer:
        for number in range(count):
            writer.record(record(number))
        writer.sample(Sample(ns=1, source="host", name="cpu_share", value=0.5))
    return folder


def sealed(folder, count=3):
    with PointWriter(folder, Redactor()) as writer:
        for number in range(count):
            writer.record(record(number))
        writer.seal(sample_point(folder.name, speed_tok_s_user=50, rate_tok_s_gpu=1000))
    return folder


def write_records(writer, count):
    for number in range(count):
        writer.record(record(number))


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_a_torn_last_line_of_an_unsealed_point_is_left_out(tmp_path, cut):
    path = unsealed(tmp_path / "a-c1") / "requests.jsonl"
    os.truncate(path, path.stat().st_size - cut)
    assert read_point_records(tmp_path / "a-c1") == (record(0), record(1))


def test_a_record_whose_events_are_torn_is_left_out(tmp_path):
    path = unsealed(tmp_path / "a-c1") / "chunks.bin"
    os.truncate(path, path.stat().st_size - 1)
    assert read_point_records(tmp_path / "a-c1") == (record(0), record(1))


def test_a_broken_line_in_the_middle_is_an_error_even_in_an_unsealed_point(tmp_path):
    path = unsealed(tmp_path / "a-c1") / "requests.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{broken\n" + lines[2])
    with pytest.raises(InputError, match=r"requests\.jsonl:2: "):
        read_point_records(tmp_path / "a-c1")


@pytest.mark.parametrize("name", ["requests.jsonl", "chunks.bin"])
@pytest.mark.parametrize("change", ["cut", "grown", "gone"])
def test_a_sealed_point_must_be_whole(tmp_path, name, change):
    path = sealed(tmp_path / "a-c1") / name
    if change == "cut":
        os.truncate(path, path.stat().st_size - 3)
    elif change == "grown":
        path.write_bytes(path.read_bytes() + b"x")
    else:
        path.unlink()
    with pytest.raises(InputError, match="measure the point again") as caught:
        read_point_records(tmp_path / "a-c1")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["requests.jsonl", "samples.jsonl"])
@pytest.mark.parametrize("line", [b"a" * (2 * LONGEST_LINE_BYTES) + b"\n", b"[" * 100_000 + b"\n"])
def test_a_line_that_no_run_writes_is_one_sentence(tmp_path, name, line):
    folder = sealed(tmp_path / "a-c1")
    with (folder / name).open("ab") as file:
        file.write(line)
    with pytest.raises(InputError) as caught:
        (read_point_records if name == "requests.jsonl" else read_point_samples)(folder)
    assert len(str(caught.value)) < 500


def test_an_unknown_kind_of_event_is_an_error(tmp_path):
    path = sealed(tmp_path / "a-c1") / "chunks.bin"
    content = bytearray(path.read_bytes())
    content[33] = 200
    path.write_bytes(content)
    with pytest.raises(InputError, match="unknown kind 200"):
        read_point_records(tmp_path / "a-c1")


def test_what_an_interrupted_attempt_left_is_cleared(tmp_path):
    folder = unsealed(tmp_path / "a-c1", count=5)
    (folder / "point.json.part").write_text("{")
    (folder / "left.over").write_text("x")
    sealed(folder, count=1)
    assert read_point_records(folder) == (record(0),)
    assert sorted(item.name for item in folder.iterdir()) == ["chunks.bin", "point.json", "requests.jsonl", "samples.jsonl"]


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("x")
    (tmp_path / "points").mkdir()
    (tmp_path / "points" / "a-c1").symlink_to(victim)
    sealed(tmp_path / "points" / "a-c1")
    assert [item.name for item in victim.iterdir()] == ["precious"]


def test_a_sealed_point_is_never_started_again(tmp_path):
    folder = sealed(tmp_path / "a-c1")
    with pytest.raises(IxbenchError, match="sealed"):
        PointWriter(folder, Redactor())
    assert read_point_records(folder)


def test_records_reach_the_operating_system_while_the_point_runs(tmp_path):
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        writer.record(record(0))
        writer.sample(Sample(ns=1, source="host", name="cpu_share", value=0.5))
        writer.flush()
        assert read_point_records(tmp_path / "a-c1") == (record(0),)
        assert len(read_point_samples(tmp_path / "a-c1")) == 1
        assert not is_sealed(tmp_path / "a-c1")


def test_the_result_must_be_of_the_folder(tmp_path):
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer, pytest.raises(ValueError, match="cannot seal"):
        writer.seal(sample_point("b-c1", speed_tok_s_user=50, rate_tok_s_gpu=1000))
    folder = sealed(tmp_path / "a-c2")
    folder.rename(tmp_path / "other-c2")
    with pytest.raises(InputError, match="is the result of 'a-c2', but its folder is 'other-c2'"):
        read_result(tmp_path / "other-c2")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no point of format 1"),
        (b"\xff\xfe", "no point of format 1"),
        (b"[]", "no point of format 1"),
        (b'{"format": 1}', "no point of format 1"),
        (b'{"format": 99}', "use a newer ixbench"),
        (b'{"format": "one"}', "no point of format 1"),
        (b'{"format": 1, "provenance": ' + b"[" * 100_000, "no point of format 1"),
    ],
)
def test_a_broken_point_json_is_one_sentence(tmp_path, content, said):
    folder = sealed(tmp_path / "a-c1")
    (folder / "point.json").write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        read_result(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc", "a\\b", "a\0b", "a\nb", "-rf", ".hidden", "x" * 300, "a b", "é"])
def test_names_that_are_no_plain_names(name):
    assert not is_plain_name(name)


@pytest.mark.parametrize("name", ["vllm-c8", "vllm-offload-c16", "endpoint-r0.5", "a-c1-max_num_seqs=256-2", "x"])
def test_plain_names(name):
    assert is_plain_name(name)


def test_secrets_do_not_reach_the_disk(tmp_path):
    redactor = Redactor(["hunter2-hunter2"])
    result = sample_point(
        "a-c1",
        speed_tok_s_user=50,
        rate_tok_s_gpu=1000,
        provenance={
            "argv": ["serve", "--api-key", "sk-not-known-before", "--url", "http://bob:pass-word@host/"],
            "env": {"HF_TOKEN": {"value": "hf_not_known_before", "reason": "gated model", "origin": "benchmarks.toml"}},
            "note": "tried hunter2-hunter2",
        },
    )
    with PointWriter(tmp_path / "a-c1", redactor) as writer:
        writer.record(
            RequestRecord(
                req_id="r0",
                phase="profile",
                session_id="s",
                tree_id="t",
                lane=0,
                failure="http_status",
                error_text='401 for "hunter2-hunter2" at https://bob:pass-word@host/v1, Authorization: Bearer abcdefgh12345678',
            )
        )
        writer.sample(Sample(ns=1, source="host", name="x", value=1.0, labels={"cmd": "--password hunter2-hunter2"}))
        writer.seal(result)
    everything = b"".join(path.read_bytes() for path in (tmp_path / "a-c1").iterdir())
    for secret in (b"hunter2", b"pass-word", b"abcdefgh12345678", b"sk-not-known", b"hf_not_known"):
        assert secret not in everything
    assert b"gated model" in everything
    assert read_result(tmp_path / "a-c1").metrics == result.metrics


def test_metric_names_that_count_tokens_are_no_secrets(tmp_path):
    result = sample_point("a-c1", speed_tok_s_user=50, rate_tok_s_gpu=1000)
    result.metrics["joules_per_token"] = {"total": 0.5, "input": 0.6, "output": 4.5}
    with PointWriter(tmp_path / "a-c1", Redactor()) as writer:
        writer.seal(result)
    assert read_result(tmp_path / "a-c1").metrics["joules_per_token"] == {"total": 0.5, "input": 0.6, "output": 4.5}


@pytest.fixture
def full_disk(tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_is_one_sentence_and_seals_nothing(full_disk):
    writer = PointWriter(full_disk / "a-c1", Redactor())
    with pytest.raises(IxbenchError, match="No space left on device") as caught:
        write_records(writer, 10_000)
    assert "\n" not in str(caught.value)
    writer.close()
    assert not is_sealed(full_disk / "a-c1")
    assert read_point_records(full_disk / "a-c1")
