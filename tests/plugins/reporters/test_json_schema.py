"""Everything that a reporter writes as JSON is described by the schema that `ixbench schema NAME` prints, key by key."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import jsonschema
import pytest

from ixbench.api.report import OptionsModel, Reporter
from ixbench.cli.main import main
from ixbench.host.load import load_host
from ixbench.model.errors import InputError, PluginError
from ixbench.report.choose import ChosenReporter
from ixbench.report.json_schema import report_schema, schema_of
from ixbench.report.load import load_run, load_runs
from ixbench.testing.folders import write_sample_run
from ixbench.testing.runs import sample_point, sample_run, too_short

HOST = load_host()
REPORTERS = [reporter for reporter in HOST.reporters() if HOST.source_of(reporter).plugin == "builtin"]
WRITING = [reporter for reporter in REPORTERS if reporter.json_type() is not None]
OPTIONS = {"inferencex": {"invalid": True, "simulated": True}, "compare": {"allow_mismatch": True}}
OF_TWO = ("compare",)
"""Reporters of exactly two runs."""
FOREIGN = ("agg_agentic_v3.json", "agg_fixed_v1_single_node.json", "agg_fixed_v2_multinode_disagg.json", "seed_like_rows.json")


def named(reporter):
    return reporter.name


def schema(reporter):
    return report_schema(ChosenReporter(reporter=reporter, source="test"))


def rendered(reporter, *runs):
    if reporter.name in OF_TWO:
        runs = (runs[0], runs[1] if len(runs) > 1 else replace(runs[0], id="another"))
    options = reporter.Options(**OPTIONS.get(reporter.name, {}))
    return {artifact.name: artifact.content for artifact in reporter.render(runs, options)}


def written(reporter, *runs):
    return json.loads(rendered(reporter, *runs)[f"{reporter.name}.json"])


def valid(reporter, *runs):
    made = schema(reporter)
    jsonschema.Draft202012Validator.check_schema(made)
    errors = jsonschema.Draft202012Validator(made).iter_errors(written(reporter, *runs))
    return [f"{error.json_path}: {error.message[:300]}" for error in errors]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return load_run(write_sample_run(tmp_path_factory.mktemp("results"), HOST))


def keys_of(schema):
    """Return (name, form) of each key wherever it stands in a schema; a name is that of its type and its own, `Point.id`."""
    inner = [pair for name, form in schema.get("$defs", {}).items() for pair in keys_in(form, name)]
    return [*keys_in({key: form for key, form in schema.items() if key != "$defs"}, schema["title"].rpartition(" ")[2]), *inner]


def keys_in(form, above):
    parts = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ()
    for key, part in parts:
        if key == "properties":
            for name, found in part.items():
                yield f"{above}.{name}", found
                yield from keys_in(found, f"{above}.{name}")
        elif key not in {"default", "enum", "const"}:
            yield from keys_in(part, above)


def views():
    point = sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000)
    agentic = {"agentic": True, "workload": "agentx", "input_tokens": None, "output_tokens": None, "preset": "agentx"}
    yield "one", sample_run(point)
    yield "none", sample_run()
    yield "simulated", sample_run(sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=5000, evidence="simulated"))
    yield "without GPUs", sample_run(sample_point("a-c1", speed_tok_s_user=60, rate_tok_s_gpu=None, gpus=None, hardware=None), quotes=())
    yield "an open loop", sample_run(replace(point, identity=replace(point.identity, concurrency=None, rate=0.5)))
    yield "invalid", sample_run(sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=5000, successes=5, verdict=too_short(5)))
    sessions = sample_point("atom-c4", speed_tok_s_user=60, rate_tok_s_gpu=5000, engine="atom", **agentic)
    tasks = {**sessions.metrics, "tasks_completed": 0, "phase_s": 60.0}
    yield "tasks", sample_run(replace(sessions, metrics=tasks), planned=("atom-c4", "atom-c8"))
    settings = {"max_num_seqs": 4, "args.--x": None, "on": True}
    yield "settings", sample_run(sample_point("vllm-c8", speed_tok_s_user=50, rate_tok_s_gpu=5000, settings=settings))


VIEWS = dict(views())


@pytest.mark.parametrize("reporter", REPORTERS, ids=named)
def test_whoever_writes_json_says_what_it_holds(reporter, sample):
    assert (f"{reporter.name}.json" in rendered(reporter, sample)) == (reporter in WRITING)


@pytest.mark.parametrize("reporter", WRITING, ids=named)
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_all_kinds_are_as_the_schema_says(reporter, name):
    assert valid(reporter, VIEWS[name]) == []


@pytest.mark.parametrize("reporter", WRITING, ids=named)
def test_a_run_folder_is_as_the_schema_says(reporter, sample):
    other = replace(sample, id="another")
    assert valid(reporter, sample) == []
    assert valid(reporter, sample, other) == []


@pytest.mark.parametrize("reporter", WRITING, ids=named)
@pytest.mark.parametrize("file", FOREIGN)
def test_imported_points_are_as_the_schema_says(reporter, file, shared):
    assert valid(reporter, *load_runs([shared / "data" / "rows" / file], HOST)) == []


@pytest.mark.parametrize("reporter", [one for one in WRITING if one.name != "inferencex"], ids=named)
def test_every_key_is_told_and_none_is_left_out(reporter, sample):
    made = schema(reporter)
    validator = jsonschema.Draft202012Validator(made)
    found = written(reporter, sample)
    assert list(validator.iter_errors({**found, "more": 1})) != []
    for key in found:
        assert list(validator.iter_errors({name: value for name, value in found.items() if name != key})) != []
    for definition in made.get("$defs", {}).values():
        assert definition["additionalProperties"] is False
        assert sorted(definition["required"]) == sorted(definition["properties"])
        assert definition["description"]


@pytest.mark.parametrize("name", [*map(named, WRITING), None], ids=str)
def test_every_key_of_every_schema_has_a_meaning(name, capsys):
    assert main(["schema", *([name] if name is not None else [])]) == 0
    found = keys_of(json.loads(capsys.readouterr().out))
    assert len(found) > 2
    assert [key for key, form in found if not form.get("description", "").endswith(".")] == []
    assert [key for key, form in found if "\n" in form["description"]] == []


def test_a_meaning_stands_under_the_field_wherever_it_is_declared():
    holder = schema_of(Holding, title="t", description="d")
    assert [(name, form.get("description")) for name, form in keys_of(holder)] == [
        ("t.things", "All of them, on two lines."),
        ("t.more", "How many more; null = none."),
        ("Thing.size", None),
        ("Thing.names", "By name; null = there are none."),
    ]


def test_a_row_without_what_every_row_has_is_refused():
    reporter = next(one for one in WRITING if one.name == "inferencex")
    validator = jsonschema.Draft202012Validator(schema(reporter))
    (row,) = written(reporter, VIEWS["one"])
    assert validator.is_valid([row | {"unknown_key": 1}])
    for key in ("conc", "isl", "tput_per_gpu", "ixbench"):
        assert not validator.is_valid([{name: value for name, value in row.items() if name != key}])
    assert not validator.is_valid([row | {"conc": "eight"}])


def test_the_command_prints_it(capsys):
    for reporter in WRITING:
        assert main(["schema", reporter.name]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out) == schema(reporter)
        assert said.err == ""
        assert "None" not in said.out
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "ixbench campaign"


def test_a_reporter_of_a_file_has_one_too(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from ixbench.api.report import OptionsModel, Reporter\n"
        "class Options(OptionsModel):\n    pass\n"
        "@dataclass\n"
        "class Content:\n    points: dict[str, float | None]\n    '''Speed by point; None where it has none.'''\n"
        "class Mine(Reporter[Options]):\n    name = 'mine'\n    Options = Options\n"
        "    def render(self, runs, options):\n        return [Artifact(name='mine.json', content='{}')]\n"
        "    def json_type(self):\n        return Content\n"
    )
    assert main(["schema", str(tmp_path / "mine.py")]) == 0
    made = json.loads(capsys.readouterr().out)
    number = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    speeds = {"description": "Speed by point; null where it has none.", "type": "object", "additionalProperties": number}
    assert (made["title"], made["properties"]) == ("ixbench report mine", {"points": speeds})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lader"], "ixbench schema: unknown reporter 'lader'; allowed: "),
        (["console"], f"ixbench schema: reporter 'console' writes no JSON; allowed: {', '.join(map(named, WRITING))}"),
        (["nowhere.py"], "nowhere.py: there is no such file; allowed: a Python file with a reporter, or the name of one"),
        (["ladder", "cost"], "schema: unexpected argument 'cost'"),
        ([""], "ixbench schema: unknown reporter ''"),
    ],
)
def test_wrong_words_are_one_sentence(words, said, capsys):
    assert main(["schema", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


@dataclass
class Thing:
    """A thing."""

    size: int = 3
    names: dict[str, int] | None = None
    """By name; None = there are none."""


@dataclass
class Holder:
    """What holds things."""

    things: list[Thing]
    """All of them,
    on two lines."""
    more: int | None
    """Never said."""


@dataclass
class Holding(Holder):
    """What says something else of one of its keys."""

    more: int | None
    """How many more; None = none."""


class Untyped(Reporter[OptionsModel]):
    """Says of its JSON what is no type."""

    name = "untyped"
    Options = OptionsModel

    def render(self, runs, options):
        """Return nothing."""
        return []

    def json_type(self) -> object:
        """Return a number."""
        return 5


def test_what_is_no_type_is_the_plugins_fault():
    with pytest.raises(PluginError, match="acme 1: reporter untyped: its JSON has no schema: "):
        report_schema(ChosenReporter(reporter=Untyped(), source="acme 1"))


def test_what_has_a_default_is_written_all_the_same():
    made = schema_of(list[Thing], title="t", description="d")
    thing = made["$defs"]["Thing"]
    assert (made["type"], made["items"], thing["description"]) == ("array", {"$ref": "#/$defs/Thing"}, "A thing.")
    assert thing["required"] == ["size", "names"]
    assert thing["properties"]["size"] == {"type": "integer"}
    assert thing["properties"]["names"]["description"] == "By name; null = there are none."


def test_a_reporter_without_json_is_the_users_fault():
    class Silent(Untyped):
        name = "silent"

        def json_type(self) -> None:
            return None

    with pytest.raises(InputError, match="reporter 'silent' writes no JSON"):
        report_schema(ChosenReporter(reporter=Silent(), source="acme 1"))
