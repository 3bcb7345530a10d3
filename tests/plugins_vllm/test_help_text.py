"""Flags against what the build itself prints."""

from __future__ import annotations

from ixbench.model.deployment import Deployment, HardwareSpec, ModelSpec
from ixbench_vllm.adapter import VllmAdapter
from ixbench_vllm.builds import names
from ixbench_vllm.options import VllmOptions

ADAPTER = VllmAdapter()


def deployment(**fields):
    model = ModelSpec(id="acme/model", label="m")
    options = VllmOptions.model_validate(fields.pop("options", {}))
    return Deployment(name="v", engine="vllm", model=model, hardware=HardwareSpec(), options=options, **fields)


def help_text(*without):
    """Return a help text in the form that vLLM 0.32.0 prints, with the flags of the shipped list."""
    flags = sorted(names("flags") - set(without))
    return "usage: vllm serve [model_tag] [options]\n\noptions:\n" + "".join(f"  {flag} VALUE\n           Some words.\n" for flag in flags)


def check(text, **fields):
    return [(item.level, item.code, item.text) for item in ADAPTER.check_help(text, ADAPTER.plan(deployment(**fields)))]


def test_the_command_asks_the_program_that_would_be_started():
    assert ADAPTER.help_command(deployment()) == ("vllm", "serve", "--help=all")
    assert ADAPTER.help_command(deployment(executable="/opt/bin/vllm")) == ("/opt/bin/vllm", "serve", "--help=all")


def test_a_build_that_has_all_flags():
    args = {"--max_num_seqs": 8, "--no-async-scheduling": True, "-cc.mode": 3, "-tp": 1}
    assert check(help_text(), args=args, options={"speculative": {"method": "mtp", "tokens": 2}, "profiler": True}) == []


def test_a_flag_that_the_build_lacks_is_named_with_its_neighbour():
    found = check(help_text("--stream-interval"), options={"stream_interval": 20}, args={"--max-num-seq": 8, "--zzzz": True})
    assert found == [
        ("error", "unknown_flag", "--stream-interval: the vLLM to be started does not know this flag; did you mean '--dp-sync-interval'?"),
        ("error", "unknown_flag", "--max-num-seq: the vLLM to be started does not know this flag; did you mean '--max-num-seqs'?"),
        ("error", "unknown_flag", "--zzzz: the vLLM to be started does not know this flag; remove it, or use a build that has it"),
    ]


def test_values_that_look_like_flags_are_none():
    assert check(help_text(), options={"max_model_len": -1}) == []


def test_a_text_that_is_no_help_text_checks_nothing():
    ((level, code, _),) = check("vllm: command not found", args={"--zzz": 1})
    assert (level, code) == ("note", "help_unread")
