"""Every mistake in a file is one line: where it is, what was found, what is allowed."""

from __future__ import annotations

import pytest

from ixbench.campaign.read import read_campaign
from ixbench.campaign.schema import CampaignTable
from ixbench.campaign.validate import field_names
from ixbench.model.errors import InputError

GOOD = {
    "top": "schema = 1",
    "model": '[model]\nid = "acme/big"',
    "hardware": '[hardware]\nsku = "mi355x"\ngpus = 8',
    "workload": '[workload]\nuse = "steady"',
    "deployment": '[[deployment]]\nengine = "acme"\nconcurrency = [1, 2]',
}


def file_of(**parts):
    """Return a good file with some of its parts replaced, and further tables after it."""
    return "\n".join(({**GOOD, **parts}).values())


def deployment(text):
    return file_of(deployment=f'[[deployment]]\nengine = "acme"\n{text}')


def faults_of(name, house, **given):
    with pytest.raises(InputError) as error:
        read_campaign(name, house, **given)
    return [str(fault) for fault in error.value.faults]


CONCURRENCY = "concurrency = [1, 2]\n"
WRONG = {
    "more at once than there can be": (
        deployment("concurrency = [1, 99999999999999999999]"),
        "deployment[0].concurrency: found 99999999999999999999; allowed: whole numbers from 1 to 1,000,000, such as [1, 2, 4]",
    ),
    "no toml": ("schema = 1\n[model\n", "line 2, column 7: no valid TOML: expected ']' at the end of a table declaration"),
    "more GPUs than any machine has": (
        file_of(hardware='[hardware]\nsku = "mi355x"\ngpus = 1000000000000000000000'),
        "hardware.gpus: found 1000000000000000000000; allowed: 1000000 or less",
    ),
    "a number of hundreds of digits": (
        deployment(f"{CONCURRENCY}[report]\nrungs = [30, {'9' * 400}]"),
        "report.rungs[1]: there is a whole number of more than 300 digits; allowed: numbers that can be computed with",
    ),
    "more digits in hexadecimal than Python prints": (
        deployment(f"rate = 0x{'f' * 5000}"),
        "deployment[0].rate: there is a whole number of more than 300 digits; allowed: numbers that can be computed with",
    ),
    "a key twice": ("schema = 1\nschema = 1\n", "line 2, column 11: no valid TOML: cannot overwrite a value"),
    "no schema": (file_of(top=""), "schema: missing; allowed: schema = 1"),
    "a later schema": (file_of(top="schema = 2"), "schema: found 2; allowed: 1"),
    "schema as text": (file_of(top='schema = "1"'), "schema: found '1'; allowed: 1"),
    "title as number": (file_of(top="schema = 1\ntitle = 3"), "title: found 3; allowed: a text"),
    "unknown table": (file_of(more="[modle]\nid = 1"), "modle: unknown key; did you mean 'model'?"),
    "no replicas": (file_of(more="[simulation]\nreplicas = 0"), "simulation.replicas: found 0; allowed: 1 or more"),
    "unknown key of simulation": (
        file_of(more="[simulation]\nreplica = 16"),
        "simulation.replica: unknown key; did you mean 'replicas'?",
    ),
    "table as value": (file_of(top="schema = 1\nreport = 3"), "report: found 3; allowed: a table"),
    "model id as number": (file_of(model="[model]\nid = 3"), "model.id: found 3; allowed: a text"),
    "empty model id": (file_of(model='[model]\nid = ""'), "model.id: found ''; allowed: a text of 1 or more characters"),
    "unknown model key": (
        file_of(model='[model]\nid = "m"\nprecison = "fp4"'),
        "model.precison: unknown key; did you mean 'precision'?",
    ),
    "unknown sku": (
        file_of(hardware='[hardware]\nsku = "mi355"'),
        "hardware.sku: unknown SKU 'mi355'; allowed: h100, mi355x; did you mean 'mi355x'?",
    ),
    "gpus as text": (file_of(hardware='[hardware]\ngpus = "8"'), "hardware.gpus: found '8'; allowed: a whole number"),
    "no gpus": (file_of(hardware="[hardware]\ngpus = 0"), "hardware.gpus: found 0; allowed: 1 or more"),
    "absent": (
        file_of(hardware='[hardware]\nabsent = "simulat"'),
        "hardware.absent: found 'simulat'; allowed: 'fail' or 'simulate'; did you mean 'simulate'?",
    ),
    "no workload": (file_of(workload=""), "workload.use: missing; allowed: agents, steady"),
    "unknown workload": (
        file_of(workload='[workload]\nuse = "stead"'),
        "workload.use: unknown workload 'stead'; allowed: agents, steady; did you mean 'steady'?",
    ),
    "unknown workload key": (
        file_of(workload='[workload]\nuse = "steady"\nrequest = 5'),
        "workload.request: unknown key; did you mean 'requests'?",
    ),
    "workload key as text": (
        file_of(workload='[workload]\nuse = "steady"\nrequests = "5"'),
        "workload.requests: found '5'; allowed: a whole number",
    ),
    "no duration": (
        file_of(workload='[workload]\nuse = "steady"\nlength = "soon"'),
        "workload.length: 'soon' is no duration; write a number of seconds or a text such as '90s', '60m' or '1h30m'",
    ),
    "NUL in executable": (
        file_of(deployment='[[deployment]]\nengine = "acme"\nconcurrency = 1\nexecutable = "ac\\u0000me"'),
        "deployment[0].executable: the text holds a NUL character; allowed: text that a command line and a file's name can hold",
    ),
    "NUL in an option": (
        deployment(f'{CONCURRENCY}weights = "b\\u0000"'),
        "deployment[0].weights: the text holds a NUL character; allowed: text that a command line and a file's name can hold",
    ),
    "NUL in args": (
        file_of(deployment='[[deployment]]\nengine = "acme"\nconcurrency = 1\nargs = { --x = ["a", "b\\u0000"] }'),
        "deployment[0].args.--x: the flag or its value holds a NUL character; allowed: text that a command line can hold",
    ),
    "no deployment": (file_of(deployment=""), "deployment: missing; allowed: one or more [[deployment]] tables"),
    "empty deployment": (
        file_of(top="schema = 1\ndeployment = []", deployment=""),
        "deployment: the list is empty; allowed: one or more [[deployment]] tables",
    ),
    "deployment as table": (
        file_of(deployment='[deployment]\nengine = "acme"'),
        "deployment: found a table; allowed: one or more [[deployment]] tables",
    ),
    "no engine": (file_of(deployment="[[deployment]]\nconcurrency = [1]"), "deployment[0].engine: missing"),
    "unknown engine": (
        file_of(deployment='[[deployment]]\nengine = "acne"\nconcurrency = [1]'),
        "deployment[0].engine: unknown engine 'acne'; allowed: acme, plain; did you mean 'acme'?",
    ),
    "unknown key": (deployment("concurrencey = [1]"), "deployment[0].concurrencey: unknown key; did you mean 'concurrency'?"),
    "unknown engine option": (
        deployment(f"{CONCURRENCY}max_num_seq = 3"),
        "deployment[0].max_num_seq: unknown key; did you mean 'max_num_seqs'?",
    ),
    "unknown nested option": (
        deployment(f"{CONCURRENCY}speculative = {{ tokens = 2, acceptance = 2.5 }}"),
        "deployment[0].speculative.acceptance: unknown key; did you mean 'acceptance_length'?",
    ),
    "missing nested option": (deployment(f"{CONCURRENCY}speculative = {{}}"), "deployment[0].speculative.tokens: missing"),
    "option of a list of words": (
        deployment(f'{CONCURRENCY}mode = "slow"'),
        "deployment[0].mode: found 'slow'; allowed: 'fast' or 'careful'",
    ),
    "option of another type": (
        deployment(f"{CONCURRENCY}tensor_parallel = true"),
        "deployment[0].tensor_parallel: found true; allowed: a whole number",
    ),
    "no size": (
        deployment(f'{CONCURRENCY}kv_offload = {{ backend = "simple", host_memory = "much" }}'),
        "deployment[0].kv_offload.host_memory: 'much' is no size; write bytes or a text such as '1499 GB' or '32 GiB'",
    ),
    "concurrency 0": (
        deployment("concurrency = [1, 0]"),
        "deployment[0].concurrency: found 0; allowed: whole numbers of 1 or more, such as [1, 2, 4]",
    ),
    "concurrency as text": (
        deployment('concurrency = "4"'),
        "deployment[0].concurrency: found '4'; allowed: whole numbers of 1 or more, such as [1, 2, 4]",
    ),
    "concurrency of nothing": (
        deployment("concurrency = []"),
        "deployment[0].concurrency: found []; allowed: whole numbers of 1 or more, such as [1, 2, 4]",
    ),
    "concurrency twice": (deployment("concurrency = [4, 1, 4]"), "deployment[0].concurrency: found 4 twice; allowed: each value once"),
    "rate of nan": (
        deployment("rate = [nan]"),
        "deployment[0].rate: found nan; allowed: finite numbers above 0, in sessions a second, such as [0.5, 1.0]",
    ),
    "two loads": (deployment(f"{CONCURRENCY}rate = 0.5"), "deployment[0].rate: concurrency is given as well; allowed: one of the two"),
    "no load": (
        deployment(""),
        "deployment[0]: neither concurrency nor rate is given; write concurrency = [1, 2, 4] or, for an open loop, rate = [0.5, 1.0]",
    ),
    "a name twice": (
        file_of(more='[[deployment]]\nname = "ACME"\nengine = "plain"\nurl = "http://h"\nrate = 1'),
        "deployment[1].name: the name 'ACME' is taken by deployment[0] ('acme'); give each deployment a name of its own",
    ),
    "an engine twice": (
        file_of(more='[[deployment]]\nengine = "acme"\nrate = 1'),
        "deployment[1].name: the engine's name 'acme' as its name is taken by deployment[0]; give each deployment a name of its own",
    ),
    "no name": (
        deployment(f'{CONCURRENCY}name = "--"'),
        "deployment[0].name: found '--'; allowed: a name with a letter or a digit in it: point ids are made of it",
    ),
    "unknown recipe": (
        deployment(f'{CONCURRENCY}recipe = "bigg"'),
        "deployment[0].recipe: engine acme has no recipe 'bigg'; allowed: big, small; did you mean 'big'?",
    ),
    "no url": (
        deployment(f'{CONCURRENCY}url = "localhost:8000"'),
        "deployment[0].url: 'localhost:8000' is no URL of a server; allowed: http:// or https:// with a host, such as http://127.0.0.1:8000",
    ),
    "a file url": (
        deployment(f'{CONCURRENCY}url = "file:///etc/passwd"'),
        (
            "deployment[0].url: 'file:///etc/passwd' is no URL of a server; "
            "allowed: http:// or https:// with a host, such as http://127.0.0.1:8000"
        ),
    ),
    "a url's secret": (
        deployment(f'{CONCURRENCY}url = "http://ann:hunter2@h:port"'),
        (
            "deployment[0].url: 'http://***@h:port' is no URL: Port could not be cast to integer value as 'port'; "
            "allowed: http:// or https:// with a host, such as http://127.0.0.1:8000"
        ),
    ),
    "a url with a key": (
        deployment(f'{CONCURRENCY}url = "http://h/v1?api_key=abc"'),
        (
            "deployment[0].url: 'http://h/v1?api_key=***' has a query or a fragment; allowed: a base URL; "
            "name the variable of a key in api_key_env"
        ),
    ),
    "api_key_env holds a key": (
        deployment(f'{CONCURRENCY}api_key_env = "sk-123"'),
        "deployment[0].api_key_env: 'sk-123' is no name of an environment variable; allowed: letters, digits and '_', no digit first",
    ),
    "no variable": (
        deployment(f'{CONCURRENCY}env."A-B" = "1"'),
        "deployment[0].env.A-B: 'A-B' is no name of an environment variable; allowed: letters, digits and '_', no digit first",
    ),
    "variable as list": (
        deployment(f"{CONCURRENCY}env.HF_TOKEN = [1]"),
        "deployment[0].env.HF_TOKEN: found ***; allowed: a text or a number, or { value = ..., reason = ... }",
    ),
    "variable as truth": (
        deployment(f"{CONCURRENCY}env.FAST = true"),
        (
            "deployment[0].env.FAST: found true; allowed: a text or a number, or { value = ..., reason = ... }; "
            'write "1", "true" or whatever the engine reads'
        ),
    ),
    "variable without value": (deployment(f'{CONCURRENCY}env.FAST = {{ reason = "so" }}'), "deployment[0].env.FAST.value: missing"),
    "variable with more": (
        deployment(f'{CONCURRENCY}env.FAST = {{ value = 1, reson = "so" }}'),
        "deployment[0].env.FAST.reson: unknown key; did you mean 'reason'?",
    ),
    "flag without dashes": (
        deployment(f"{CONCURRENCY}args.quiet = true"),
        "deployment[0].args.quiet: 'quiet' is no flag; allowed: flags with their dashes; write \"--quiet\"",
    ),
    "flag with its value": (
        deployment(f'{CONCURRENCY}args."--seed=1" = true'),
        "deployment[0].args.\"--seed=1\": '--seed=1' is no flag; allowed: the flag alone; its value stands after the equals sign",
    ),
    "gpus": (
        deployment(f"{CONCURRENCY}gpus = [0, -1]"),
        "deployment[0].gpus: found -1; allowed: GPU indices: whole numbers of 0 or more",
    ),
    "gpus twice": (deployment(f"{CONCURRENCY}gpus = [0, 0]"), "deployment[0].gpus: found [0, 0]; allowed: each GPU once"),
    "too many gpus": (
        deployment(f"{CONCURRENCY}gpus = [0, 1, 2, 3, 4, 5, 6, 7, 8]"),
        "deployment[0].gpus: it lists 9 GPUs, and [hardware] gpus = 8; list fewer, or raise hardware.gpus",
    ),
    "at no concurrency": (
        deployment(f"{CONCURRENCY}at.x.max_num_seqs = 3"),
        "deployment[0].at.x: 'x' is no concurrency; allowed: a whole number of 1 or more",
    ),
    "at as value": (deployment(f"{CONCURRENCY}at.1 = 3"), "deployment[0].at.1: found 3; allowed: a table"),
    "unknown key at": (
        deployment(f"{CONCURRENCY}at.1.max_seqs = 3"),
        "deployment[0].at.1.max_seqs: unknown key; did you mean 'max_num_seqs'?",
    ),
    "engine at": (
        deployment(f'{CONCURRENCY}at.1.engine = "plain"'),
        "deployment[0].at.1.engine: not allowed here; say it for the whole deployment",
    ),
    "unknown default": (
        file_of(more="[defaults]\nmax_num_seq = 3"),
        "defaults.max_num_seq: unknown key; no engine of this file knows it (acme); did you mean 'max_num_seqs'?",
    ),
    "engine as default": (
        file_of(more='[defaults]\nengine = "acme"'),
        "defaults.engine: not allowed here; say it in each [[deployment]]",
    ),
    "default of another type": (
        file_of(more='[defaults]\nmax_num_seqs = "many"'),
        "defaults.max_num_seqs: found 'many'; allowed: a whole number",
    ),
    "matrix of one value": (
        deployment(f"{CONCURRENCY}matrix.max_num_seqs = 3"),
        "deployment[0].matrix.max_num_seqs: found 3; allowed: a list of texts, numbers or true and false",
    ),
    "matrix of nothing": (
        deployment(f"{CONCURRENCY}matrix.max_num_seqs = []"),
        "deployment[0].matrix.max_num_seqs: found []; allowed: a list of texts, numbers or true and false",
    ),
    "matrix of tables": (
        deployment(f"{CONCURRENCY}matrix.speculative = [{{ tokens = 1 }}]"),
        (
            "deployment[0].matrix.speculative: found a table in the list; allowed: a list of texts, numbers or true and false; "
            "sweep a key inside a table by its path, such as speculative.tokens"
        ),
    ),
    "matrix value twice": (
        deployment(f"{CONCURRENCY}matrix.max_num_seqs = [1, 1]"),
        "deployment[0].matrix.max_num_seqs: found 1 twice; allowed: each value once",
    ),
    "matrix of loads": (
        deployment(f"{CONCURRENCY}matrix.concurrency = [1]"),
        (
            "deployment[0].matrix.concurrency: 'concurrency' cannot be swept; "
            "allowed: options of the engine, args.--flag, env.NAME, image or executable"
        ),
    ),
    "matrix of an unknown key": (
        deployment(f"{CONCURRENCY}matrix.max_seqs = [1]"),
        "deployment[0].matrix.max_seqs: unknown key; did you mean 'max_num_seqs'?",
    ),
    "matrix of a running server": (
        deployment(f'{CONCURRENCY}url = "http://h"\nmatrix.max_num_seqs = [1]'),
        "deployment[0].matrix: the settings of a server that is already running cannot be swept; remove matrix or url",
    ),
    "rungs of words": (
        file_of(more='[report]\nrungs = [50, "fast"]'),
        "report.rungs: found 'fast'; allowed: speeds in tok/s/user: finite numbers above 0",
    ),
    "a rung of 0": (file_of(more="[report]\nrungs = [0]"), "report.rungs: found 0; allowed: speeds in tok/s/user: finite numbers above 0"),
    "an endless rung": (
        file_of(more="[report]\nrungs = [inf]"),
        "report.rungs: found inf; allowed: speeds in tok/s/user: finite numbers above 0",
    ),
    "a rung twice": (file_of(more="[report]\nrungs = [50, 50.0]"), "report.rungs: found 50.0 twice; allowed: each value once"),
    "rungs as number": (
        file_of(more="[report]\nrungs = 50"),
        "report.rungs: found 50; allowed: a list of speeds in tok/s/user, such as [30, 50, 100]",
    ),
    "primary beside the rungs": (
        file_of(more="[report]\nrungs = [30, 50]\nprimary = 40"),
        "report.primary: found 40, which is no rung; allowed: 30, 50",
    ),
    "axis": (
        file_of(more='[report]\naxis = "p80"'),
        "report.axis: found 'p80'; allowed: 'p50', 'median', 'p75', 'p90', 'p95', 'p99' or 'mean'; did you mean 'p90'?",
    ),
    "interpolation": (
        file_of(more='[report]\ninterpolation = "cubic"'),
        "report.interpolation: found 'cubic'; allowed: 'steffen', 'linear' or 'step'",
    ),
    "scope": (
        file_of(more='[report]\nscope = "acme"'),
        "report.scope: found 'acme'; allowed: 'all', 'community' or a list of engines; write [\"acme\"] for one engine",
    ),
    "scope of an unknown engine": (
        file_of(more='[report]\nscope = ["acm"]'),
        "report.scope[0]: unknown engine 'acm'; allowed: acme, plain; did you mean 'acme'?",
    ),
    "unknown reporter": (
        file_of(more='[report]\nuse = ["console", "tabel"]'),
        "report.use[1]: unknown reporter 'tabel'; allowed: console, cost, ladder, table; did you mean 'table'?",
    ),
    "reporter twice": (file_of(more='[report]\nuse = ["cost", "cost"]'), "report.use: found 'cost' twice; allowed: each name once"),
    "unknown book": (
        file_of(more='[prices]\nbook = "2026-08"'),
        "prices.book: unknown price book '2026-08'; allowed: 2026-03, 2026-09; did you mean '2026-09'?",
    ),
    "book and tiers": (
        file_of(more='[prices]\nbook = "2026-09"\ntiers = { a = 1 }'),
        "prices.tiers: book is given as well; allowed: one of the two",
    ),
    "a free tier": (file_of(more="[prices]\ntiers = { a = 0 }"), "prices.tiers.a: found 0; allowed: a number above 0"),
    "no tier": (file_of(more="[prices]\ntiers = {}"), 'prices.tiers: the table is empty; allowed: "label" = USD per GPU-hour'),
    "retries": (file_of(more="[run]\nretries = -1"), "run.retries: found -1; allowed: 0 or more"),
    "no repeat": (file_of(more="[run]\nrepeats = 0"), "run.repeats: found 0; allowed: 1 or more"),
    "repeats without end": (file_of(more="[run]\nrepeats = 1000"), "run.repeats: found 1000; allowed: 100 or less"),
    "unknown runtime": (
        file_of(more='[runtime]\nuse = "dokcer"'),
        "runtime.use: unknown runtime 'dokcer'; allowed: docker, process; did you mean 'docker'?",
    ),
    "unknown limit": (
        file_of(more="[limits]\nerror = 0.1"),
        "limits.error: unknown verdict code 'error'; allowed: errors, too_short; did you mean 'errors'?",
    ),
    "limit of a rule without one": (
        file_of(more="[limits]\nengine_died = 1"),
        "limits.engine_died: the rule 'engine_died' has no limit; allowed: errors, too_short",
    ),
    "goodput of another time": (
        file_of(more="[goodput]\nitl = 1"),
        "goodput.itl: unknown key; allowed: e2el, e2el_sched, stall, tpot, ttfa, ttft, ttft_sched",
    ),
    "goodput as text": (
        file_of(more='[goodput]\ntpot = "fast"'),
        "goodput.tpot: 'fast' is no duration; write a number of seconds or a text such as '90s', '60m' or '1h30m'",
    ),
    "no goodput": (file_of(more='[goodput]\ntpot = "0ms"'), "goodput.tpot: found '0ms'; allowed: a number above 0"),
    "goodput as number": (file_of(top="schema = 1\ngoodput = 2"), "goodput: found 2; allowed: a table"),
    "limit as text": (file_of(more='[limits]\nerrors = "few"'), "limits.errors: found 'few'; allowed: a number"),
    "limit below 0": (file_of(more="[limits]\nerrors = -1"), "limits.errors: found -1; allowed: 0 or more"),
    "share above 1": (file_of(more="[limits]\nerrors = 1.5"), "limits.errors: found 1.5; allowed: 0 to 1; 1.5 % is 0.015"),
    "share far above 1": (file_of(more="[limits]\nerrors = 2e3"), "limits.errors: found 2000.0; allowed: 0 to 1"),
    "limit without end": (file_of(more="[limits]\nerrors = inf"), "limits.errors: found inf; allowed: a finite number"),
    "no limit": (file_of(more="[limits]\ntoo_short = nan"), "limits.too_short: found nan; allowed: a finite number"),
    "limit as switch": (file_of(more="[limits]\nerrors = true"), "limits.errors: found true; allowed: a number"),
    "limit of 400 digits": (
        file_of(more=f"[limits]\ntoo_short = {'9' * 400}"),
        "limits.too_short: there is a whole number of more than 300 digits; allowed: numbers that can be computed with",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_line_a_mistake(name, write, house):
    text, line = WRONG[name]
    assert faults_of(write(text), house) == [f"benchmarks.toml: {line}"]


@pytest.mark.parametrize("key", sorted(set(field_names(CampaignTable)) - {"schema", "title", "deployment"}))
def test_a_table_that_is_a_number(key, write, house):
    text = file_of(top=f"schema = 1\n{key} = 5", **({key: ""} if key in GOOD else {}))
    assert f"benchmarks.toml: {key}: found 5; allowed: a table" in faults_of(write(text), house)


@pytest.mark.parametrize("value", ["50", "fast", "30,fast"])
def test_how_the_command_line_writes_a_list_is_told(write, house, value):
    (line,) = faults_of(write(file_of()), house, overrides=[f"report.rungs={value}"])
    assert line.startswith("--set report.rungs: found ")
    assert line.endswith("such as [30, 50, 100]; a list is written 'report.rungs=[A, B]'")


def test_all_mistakes_at_once(write, house):
    text = """
schema = 2
[modl]
[hardware]
gpus = 0
sku = "mi3"
[workload]
use = "steady"
requests = "x"
[defaults]
nonsense = 1
[[deployment]]
engine = "acme"
concurrencey = [1]
max_num_seqs = "x"
[[deployment]]
engine = "acmee"
concurrency = [0]
[report]
rungs = [-1]
[limits]
nothing = 1
"""
    places = [line.split(": ")[1] for line in faults_of(write(text), house)]
    assert sorted(places) == sorted(
        [
            "schema",
            "modl",
            "hardware.gpus",
            "hardware.sku",
            "workload.requests",
            "deployment[0].concurrencey",
            "deployment[0].max_num_seqs",
            "deployment[1].engine",
            "deployment[1].concurrency",
            "report.rungs",
            "limits.nothing",
        ]
    )


def test_the_file_is_named_as_given(write, house, tmp_path):
    (tmp_path / "sub").mkdir()
    write("schema = 1", name="sub/x.toml")
    assert all(line.startswith("./sub/x.toml: ") for line in faults_of("./sub/x.toml", house))


def test_files_that_cannot_be_read(write, house, tmp_path):
    write("")
    assert faults_of("absent.toml", house) == ["absent.toml: there is no such file"]
    assert faults_of(".", house) == [".: this is no regular file; allowed: a TOML file"]
    (tmp_path / "latin.toml").write_bytes(b'schema = 1\ntitle = "caf\xe9"\n')
    assert faults_of("latin.toml", house) == ["latin.toml: line 2 is not UTF-8; save the file as UTF-8"]
    (tmp_path / "deep.toml").write_text("x = " + "[" * 5000)
    assert faults_of("deep.toml", house) == ["deep.toml: the tables are nested too deeply"]


def test_a_byte_order_mark_is_no_mistake(write, house, tmp_path):
    (tmp_path / "bom.toml").write_text("\ufeff" + file_of(), encoding="utf-8")
    assert read_campaign("bom.toml", house).title == "bom"
