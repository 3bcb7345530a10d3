"""`--set KEY=VALUE`: TOML scalars, dotted keys, deployments by name or number."""

from __future__ import annotations

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from ixbench.campaign.document import Document
from ixbench.campaign.keypath import format_path, get, parse_path
from ixbench.campaign.overrides import apply_overrides, attach_deployments, parse_override, parse_scalar, parse_value
from ixbench.campaign.read import read_campaign
from ixbench.model.errors import InputError

FILE = """
schema = 1
[model]
id = "m"
[workload]
use = "steady"
[[deployment]]
engine = "acme"
concurrency = [1, 2]
at.1.max_num_seqs = 4
[[deployment]]
name = "acme-0.2"
engine = "acme"
concurrency = [1]
"""


def document():
    return Document(where="f.toml", table=tomli.loads(FILE))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50", 50),
        ("0.5", 0.5),
        ("true", True),
        ('"50"', "50"),
        ("'a b'", "a b"),
        ("1_000", 1000),
        ("fp8", "fp8"),
        ("2026-09", "2026-09"),
        ("2026-09-01", "2026-09-01"),
        ("[1, 2]", "[1, 2]"),
        ("{ a = 1 }", "{ a = 1 }"),
        ("1\nother = 2", "1\nother = 2"),
        ("", ""),
        ("http://h:1/a=b", "http://h:1/a=b"),
        ("[" * 5000, "[" * 5000),
        ("9" * 301, int("9" * 301)),
        ("9" * 400, "9" * 400),
        ("9" * 5000, "9" * 5000),
        (f"0x{'f' * 5000}", f"0x{'f' * 5000}"),
        ("1 # one", 1),
    ],
)
def test_values(text, value):
    found = parse_scalar(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,4", [1, 4]),
        ("0.5, 1", [0.5, 1]),
        ("[1, 4]", [1, 4]),
        ("[]", []),
        ('["console", "page"]', ["console", "page"]),
        ('"1,4"', "1,4"),
        ("console,page", "console,page"),
        ("1,true", "1,true"),
        ("1,", "1,"),
        (f"1,{'9' * 400}", f"1,{'9' * 400}"),
        (f"[1, {'9' * 5000}]", f"[1, {'9' * 5000}]"),
        ("[draft] of mine", "[draft] of mine"),
        ("[[1]]", "[[1]]"),
        ("[1]\nother = 2", "[1]\nother = 2"),
        ("[" * 5000, "[" * 5000),
        ("50", 50),
        ("fp8", "fp8"),
    ],
)
def test_lists(text, value):
    found = parse_value(text)
    assert (found, type(found)) == (value, type(value))


@given(st.one_of(st.integers(-(2**63), 2**63 - 1), st.booleans(), st.floats(allow_nan=False)))
def test_every_number_and_truth_value_is_read_as_toml_writes_it(value):
    found = parse_scalar(str(value).lower() if isinstance(value, bool) else repr(value))
    assert (found, type(found)) == (value, type(value))


@given(st.text())
def test_any_text_gives_a_scalar(text):
    assert isinstance(parse_scalar(text), str | int | float | bool)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("workload.requests=50", (("workload", "requests"), 50)),
        ("title=a=b", (("title",), "a=b")),
        (' model.id = "x y" ', (("model", "id"), "x y")),
        ("deployment[0].args.--seed=1", (("deployment", "0", "args", "--seed"), 1)),
        ('deployment.x.args."--a.b=c"=1', (("deployment", "x", "args", "--a.b=c"), 1)),
    ],
)
def test_keys_and_values(text, expected):
    assert parse_override(text) == expected


@pytest.mark.parametrize("text", ["", "workload", "=1", ".=1", "a..b=1", "a b=1", "[x]=1", "a\nb=1"])
def test_what_has_another_form_is_refused(text):
    with pytest.raises(InputError) as error:
        parse_override(text)
    assert str(error.value).startswith(f"--set: found {text!r}; allowed: KEY=VALUE".replace("\n", " "))


key_texts = st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=6)


@given(st.lists(key_texts, min_size=1, max_size=4))
def test_a_path_is_read_as_it_is_written(keys):
    text = format_path(tuple(keys))
    if "[" not in text:
        assert parse_path(text) == tuple(keys)


@given(st.lists(st.sampled_from(["a", "b", "c-d", "e_f"]), min_size=1, max_size=4), st.integers())
def test_what_was_set_is_there_and_nothing_else_changed(keys, value):
    before = Document(where="f", table={"z": 1})
    after = apply_overrides(before, [f"{format_path(tuple(keys))}={value}"])
    assert get(after.table, tuple(keys)) == value
    assert after.table["z"] == 1
    assert before.table == {"z": 1}
    assert after.at(tuple(keys)) == f"--set {'.'.join(keys)}"


def test_deployments_by_name_number_and_names_with_dots():
    sets = [
        "deployment.acme.concurrency=4",
        "deployment[1].rate=2",
        "deployment.acme-0.2.args.--seed=7",
        "deployment.acme.at.1.max_num_seqs=9",
    ]
    table = apply_overrides(document(), sets).table
    first, second = table["deployment"]
    assert (first["concurrency"], first["at"]["1"]["max_num_seqs"]) == (4, 9)
    assert (second["rate"], second["args"]["--seed"]) == (2, 7)


def test_lists_are_set_but_not_under_args_and_env():
    sets = ["deployment.acme.concurrency=1,4", "report.rungs=[30, 50]", "deployment.acme.args.--sizes=1,2", "defaults.env.VISIBLE=0,1"]
    table = apply_overrides(document(), sets).table
    assert (table["deployment"][0]["concurrency"], table["report"]["rungs"]) == ([1, 4], [30, 50])
    assert (table["deployment"][0]["args"]["--sizes"], table["defaults"]["env"]["VISIBLE"]) == ("1,2", "0,1")


def test_later_ones_win():
    assert apply_overrides(document(), ["title=a", "title=b"]).table["title"] == "b"


def test_all_faults_at_once():
    sets = ["deployment.acne.rate=1", "deployment.7.rate=1", "deployment=1", "deployment.acme=1", "model.id.x=1", "nothing"]
    with pytest.raises(InputError) as error:
        apply_overrides(document(), sets)
    known = "allowed: acme, acme-0.2, or a position from 0 to 1"
    assert [str(fault) for fault in error.value.faults][:5] == [
        f"--set deployment.acne.rate: no deployment is named 'acne'; {known}; did you mean 'acme'?",
        f"--set deployment.7.rate: no deployment is named '7'; {known}",
        f"--set deployment: which deployment is not said; {known}",
        "--set deployment.acme: a whole deployment cannot be set; allowed: deployment.NAME.KEY=VALUE",
        "--set model.id.x: 'id' is no table, so there is no 'x' in it",
    ]
    assert len(error.value.faults) == 6


def test_a_wrong_value_is_told_at_the_flag_that_gave_it(write, house):
    with pytest.raises(InputError) as error:
        read_campaign(write(FILE), house, overrides=["workload.request=5", "deployment.acme.max_num_seqs=many", "hardware.gpus=0"])
    assert [str(fault) for fault in error.value.faults] == [
        "--set hardware.gpus: found 0; allowed: 1 or more",
        "--set workload.request: unknown key; did you mean 'requests'?",
        "--set deployment.acme.max_num_seqs: found 'many'; allowed: a whole number",
    ]


def test_what_is_wrong_with_a_table_that_only_a_flag_made_is_told_at_that_flag(write, house):
    sets = ["matrix.tensor_parallel=1", "collectors.nobody.every=2", "accuracy.match=exact", "accuracy.at_least=0.5"]
    with pytest.raises(InputError) as error:
        read_campaign(write(FILE), house, overrides=sets)
    assert [fault.where for fault in error.value.faults] == [
        "--set matrix.tensor_parallel",
        "--set collectors.nobody.every",
        "--set accuracy.match: questions",
    ]


def test_attach_sets_the_url_of_every_deployment(write, house):
    table = attach_deployments(document(), "http://h:1").table
    assert [deployment["url"] for deployment in table["deployment"]] == ["http://h:1"] * 2
    with pytest.raises(InputError) as error:
        read_campaign(write(FILE), house, url="h:1")
    assert [fault.where for fault in error.value.faults] == ["--attach"], "one sentence, however many deployments"
