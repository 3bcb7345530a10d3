"""Typed options and verbatim args become one argv."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ixbench.model.flags import (
    args_findings,
    argv_of,
    compact_json,
    flag_key,
    flags_by_key,
    flags_of,
    json_table,
    number_findings,
    numbers_by_option,
    queue_findings,
    replace_flags,
    replaced_findings,
    switch_flag,
    value_flag,
    whole_number,
)

RULES = (
    value_flag("size", "--size"),
    switch_flag("eager", "--eager"),
    switch_flag("cache", "--enable-cache", "--no-enable-cache"),
    value_flag("graphs", "--graphs"),
)


def options(**given):
    return SimpleNamespace(**(dict.fromkeys(("size", "eager", "cache", "graphs")) | given))


def test_an_option_that_is_none_asks_for_nothing():
    assert flags_of(RULES, options()) == []


def test_flags_stand_in_the_order_of_the_table():
    flags = flags_of(RULES, options(graphs={"sizes": [1, 2]}, size=0.9, cache=False, eager=True))
    assert argv_of(flags) == ("--size", "0.9", "--eager", "--no-enable-cache", "--graphs", '{"sizes":[1,2]}')


def test_a_switch_without_counterpart_is_silent_when_false():
    assert flags_of(RULES, options(eager=False)) == []


@pytest.mark.parametrize(
    "arg",
    ["--enable-cache", "--enable_cache", "--no-enable-cache", "--no-enable_cache", "-c"],
)
def test_spellings_of_one_flag_are_equal(arg):
    assert flag_key(arg, {"-c": "--enable-cache"}) == "--enable-cache"


def test_a_flag_that_only_begins_like_a_negation_is_left_alone():
    assert flag_key("--node-rank") == "--node-rank"


def test_args_replace_in_place_remove_and_append():
    flags = [("--size", 8), ("--eager", True), ("--enable-cache", True)]
    args = {"--new": {"a": [1, None]}, "--eager": False, "-s": 4, "--no_enable_cache": True}
    assert replace_flags(flags, args, {"-s": "--size"}) == [("-s", 4), ("--no_enable_cache", True), ("--new", {"a": [1, None]})]


def test_the_last_of_two_equal_flags_counts_once():
    assert replace_flags([("--size", 1), ("--size", 2)], {}) == [("--size", 2)]


def test_argv_items_are_separate_and_json_is_compact():
    flags = [("--a", True), ("--b", False), ("--c", ["x", 2, {"k": True}]), ("--d", {"é": 1.5, "n": None}), ("--e", -1), ("--f", "a b")]
    assert argv_of(flags) == ("--a", "--c", "x", "2", '{"k":true}', "--d", '{"é":1.5,"n":null}', "--e", "-1", "--f", "a b")


def test_json_keeps_the_order_of_keys():
    assert compact_json({"b": 1, "a": 2}) == '{"b":1,"a":2}'


def test_args_that_are_surely_wrong_are_found():
    findings = args_findings(
        {"size": 1, "--port": 80, "--enable-x": True, "--no_enable_x": True, "--fine": 1},
        reserved={"--port": "ixbench chooses the port"},
    )
    assert [(finding.level, finding.code) for finding in findings] == [
        ("error", "not_a_flag"),
        ("error", "reserved_flag"),
        ("error", "flag_twice"),
    ]
    assert findings[0].text == "args: 'size' is no flag; write it with its dashes, '--size'"
    assert "ixbench chooses the port" in findings[1].text


def test_flags_are_found_by_key_and_read_as_numbers_and_tables():
    found = flags_by_key([("-n", "8"), ("--no_x", True)], {"-n": "--number"})
    assert found == {"--number": "8", "--x": True}
    assert [whole_number(value) for value in (8, "8", "eight", 8.5, None, {})] == [8, 8, None, None, None, None]
    assert [json_table(value) for value in ({"a": 1}, '{"a":1}', "[1]", "no json", None)] == [{"a": 1}, {"a": 1}, {}, {}, {}]


def test_args_that_replace_a_set_option_are_noted():
    findings = replaced_findings(
        RULES, options(size=1, cache=True), {"-s": 2, "--no_enable_cache": True, "--eager": True}, {"-s": "--size"}
    )
    assert [finding.text.split(";")[0] for finding in findings] == [
        "args -s replaces what option size sets",
        "args --no_enable_cache replaces what option cache sets",
    ]
    assert {finding.level for finding in findings} == {"note"}


def test_numbers_come_from_the_final_flags():
    options = {"size": "--size", "depth": "--depth"}
    assert numbers_by_option([("-s", "4"), ("--depth", True)], options, {"-s": "--size"}) == {"size": 4, "depth": None}
    assert numbers_by_option([], options) == {"size": None, "depth": None}


def test_what_rules_count_with_must_be_a_number():
    found = number_findings({"-s": "4", "--depth": 0, "--name": "x", "--size": False}, ["--size", "--depth"], {"-s": "--size"})
    assert [finding.text for finding in found] == ["args: --depth = 0: allowed: a whole number above 0"]


def test_users_beyond_the_sequences_of_all_engines_queue():
    assert queue_findings(None, 4) == queue_findings(9, None) == queue_findings(8, 4, engines=2) == []
    (finding,) = queue_findings(9, 4, engines=2)
    assert (finding.level, finding.code) == ("warning", "queueing")
