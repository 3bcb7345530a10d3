"""Tables merge by key, everything else replaces: the laws that the merge order rests on."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from ixbench.campaign.merge import merge

leaves = st.one_of(st.integers(), st.booleans(), st.text(max_size=3), st.lists(st.integers(), max_size=3))
keys = st.sampled_from("abc")
tables = st.recursive(st.dictionaries(keys, leaves), lambda inner: st.dictionaries(keys, st.one_of(leaves, inner)), max_leaves=12)
nested = st.dictionaries(keys, st.one_of(leaves, tables))


def paths(table, prefix=()):
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from paths(value, (*prefix, key))
        else:
            yield (*prefix, key), value


alike = st.recursive(
    st.dictionaries(keys, leaves),
    lambda inner: st.dictionaries(st.one_of(keys, st.sampled_from("tu")), leaves).flatmap(lambda table: tables_at(table, inner)),
    max_leaves=12,
)


def tables_at(table, inner):
    """Return tables in which "t" and "u" are always tables and the other keys never are."""
    return st.fixed_dictionaries({key: inner if key in "tu" else st.just(value) for key, value in table.items()})


@given(nested, nested, nested)
def test_three_tables_are_merged_one_after_another(first, second, third):
    assert merge(first, second, third) == merge(merge(first, second), third)


@given(alike, alike, alike)
def test_where_no_value_takes_a_tables_place_the_order_of_merging_does_not_count(first, second, third):
    assert merge(merge(first, second), third) == merge(first, merge(second, third))


@given(nested)
def test_nothing_and_itself_change_nothing(table):
    assert merge(table, {}) == merge({}, table) == merge(table, table) == merge(table) == table


@given(nested, nested)
def test_the_later_table_wins_everywhere_and_hides_nothing_else(below, above):
    merged = dict(paths(merge(below, above)))
    for path, value in paths(above):
        if value != {}:
            assert merged[path] == value
    for path, value in merged.items():
        assert value in ({}, dict(paths(above)).get(path), dict(paths(below)).get(path)) or path in dict(paths(below))


@given(nested, nested)
def test_the_tables_given_are_left_alone_and_shared_with_nobody(below, above):
    before = deepcopy((below, above))
    merged = merge(below, above)
    for value in merged.values():
        if isinstance(value, list):
            value.append("changed")
        elif isinstance(value, dict):
            value["changed"] = 1
    assert (below, above) == before


def test_lists_replace_and_tables_merge():
    below = {"list": [1, 2, 3], "table": {"a": 1, "b": 2}, "either": {"a": 1}, "other": 5}
    above = {"list": [9], "table": {"b": 3}, "either": 7, "other": {"a": 1}}
    assert merge({"a": {"x": 1}}, {"a": 0}, {"a": {"y": 2}}) == {"a": {"y": 2}}, "a value in between hides the table below it"
    assert merge(below, above) == {"list": [9], "table": {"a": 1, "b": 3}, "either": 7, "other": {"a": 1}}
