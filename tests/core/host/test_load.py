"""Loading: real distributions on the path, good and broken ones. A broken one is named with its distribution and harms nobody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

from ixbench.frontier.ladder import build_ladder
from ixbench.host.load import installed_plugins, load_host, make_host
from ixbench.model.errors import InputError
from ixbench.report.load import load_run, load_runs

GOOD = """
    from ixbench.api.hooks import hookimpl
    from ixbench.api.engine import EngineAdapter, LaunchPlan, OptionsModel

    class Options(OptionsModel):
        pass

    class Adapter(EngineAdapter):
        name = "{engine}"
        Options = Options

        def plan(self, deployment):
            return LaunchPlan(engine=self.name, processes=(), served_model=None)

    @hookimpl
    def ixbench_engines():
        return [Adapter()]
"""


class Site:
    """A folder of installed distributions."""

    def __init__(self, folder):
        self.folder = folder

    def install(self, distribution, version, plugins):
        """Install modules as a distribution: entry-point name -> source."""
        lines = ["[ixbench]"]
        for plugin, source in plugins.items():
            module = f"{distribution}_{plugin}".replace("-", "_")
            lines.append(f"{plugin} = {module}")
            if source is not None:
                (self.folder / f"{module}.py").write_text(textwrap.dedent(source))
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")

    def ixbench(self, *words, **variables):
        """Run the command with these distributions installed besides ixbench itself."""
        env = os.environ | {"PYTHONPATH": str(self.folder)} | variables
        command = [sys.executable, "-c", "import sys; from ixbench.cli.main import main; sys.exit(main())", *words]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=env, timeout=60)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield Site(tmp_path)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def host_of_site():
    return make_host(installed_plugins())


def texts(host):
    host.plugins()
    return [str(failed) for failed in host.failures]


def test_nothing_that_ixbench_ships_fails():
    host = load_host()
    assert {info.source.plugin for info in host.plugins()} >= {"atom", "builtin", "vllm"}
    assert host.failures == ()


def test_a_plain_plugin_works(site):
    site.install("acme-engines", "2.1", {"acme": GOOD.format(engine="acme")})
    host = host_of_site()
    assert host.engine("acme").name == "acme"
    assert str(host.source_of(host.engine("acme"))) == "plugin acme (acme-engines 2.1)"
    (info,) = [info for info in host.plugins() if info.source.plugin == "acme"]
    assert info.hooks == ("ixbench_engines",)
    assert info.contributions == {"engines": ("acme",)}
    assert texts(host) == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("def broken(:", "SyntaxError: "),
        (None, "ModuleNotFoundError: No module named 'bad_dist_bad'"),
        ("ixbench_api = 99", "written for plugin interface 99, while this ixbench has 1; upgrade ixbench"),
        ("ixbench_api = 0", "written for plugin interface 0, while this ixbench has 1; upgrade the plugin"),
        ("ixbench_api = '1'", "ixbench_api is '1'; allowed: a whole number, the plugin interface that it was written for, 1 here"),
        ("ixbench_api = True", "ixbench_api is True; allowed: a whole number"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_harms_nobody_else(site, source, text):
    site.install("bad-dist", "0.3", {"bad": source})
    site.install("acme-engines", "2.1", {"acme": GOOD.format(engine="acme")})
    host = host_of_site()
    (told,) = texts(host)
    assert told.startswith(f"plugin bad (bad-dist 0.3): {text}")
    assert "\n" not in told
    assert host.engine("acme").name == "acme"
    assert {info.source.plugin for info in host.plugins()} >= {"acme", "atom", "builtin", "vllm"}


def test_a_missing_name_points_to_the_plugin_that_may_give_it(site):
    site.install("bad-dist", "0.3", {"bad": "import no_such_module_at_all"})
    with pytest.raises(InputError) as caught:
        host_of_site().engine("badengine", where="benchmarks.toml: deployment[0].engine")
    (fault,) = caught.value.faults
    assert str(fault).startswith("benchmarks.toml: deployment[0].engine: unknown engine 'badengine'; allowed: ")
    assert "plugin bad (bad-dist 0.3): ModuleNotFoundError" in fault.advice


def test_of_two_plugins_with_one_name_the_first_works_and_the_second_names_both(site):
    site.install("zeta", "1.0", {"same": GOOD.format(engine="zeta")})
    site.install("alpha", "1.0", {"same": GOOD.format(engine="alpha")})
    host = host_of_site()
    assert host.engine("alpha").name == "alpha"
    (told,) = texts(host)
    assert told.startswith("plugin same (zeta 1.0): its name is taken by plugin same (alpha 1.0)")
    with pytest.raises(InputError, match=r"unknown engine 'zeta'.*plugin same \(zeta 1\.0\)"):
        host.engine("zeta")


def test_nobody_can_take_the_name_of_a_shipped_plugin(site):
    site.install("aaa", "1.0", {"builtin": GOOD.format(engine="aaa")})
    host = host_of_site()
    (told,) = texts(host)
    assert told.startswith("plugin builtin (aaa 1.0): its name is taken by plugin builtin (ixbench ")
    assert [info.source.distribution for info in host.plugins() if info.source.plugin == "builtin"] == ["ixbench"]


def test_a_distribution_that_stands_twice_on_the_path_counts_once(site, tmp_path_factory, monkeypatch):
    site.install("acme-engines", "2.1", {"acme": GOOD.format(engine="acme")})
    second = tmp_path_factory.mktemp("second")
    Site(second).install("acme_engines", "2.0", {"acme": GOOD.format(engine="old")})
    monkeypatch.setattr(sys, "path", [*sys.path, str(second)])
    host = host_of_site()
    assert host.engine("acme").name == "acme"
    assert texts(host) == []


def test_broken_metadata_of_anyone_harms_nobody(site):
    info = site.folder / "odd-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[ixbench]\nno equals sign here\n")
    site.install("acme-engines", "2.1", {"acme": GOOD.format(engine="acme")})
    assert host_of_site().engine("acme").name == "acme"


def test_the_allow_list_leaves_the_others_out(site):
    site.install("acme-engines", "2.1", {"acme": GOOD.format(engine="acme")})
    host = make_host(installed_plugins(), allowed="acme, vllm")
    assert [info.source.plugin for info in host.plugins()] == ["acme", "vllm"]


@pytest.mark.parametrize("name", ["acme-engines", "Acme_Engines"])
def test_the_allow_list_takes_distributions_too(site, name):
    two = {"acme": GOOD.format(engine="acme"), "other": GOOD.format(engine="other")}
    site.install("acme-engines", "2.1", two)
    host = make_host(installed_plugins(), allowed=f"{name},vllm")
    assert [info.source.plugin for info in host.plugins()] == ["acme", "other", "vllm"]


def test_an_empty_allow_list_leaves_all_out():
    assert make_host(installed_plugins(), allowed="").plugins() == ()


def test_the_version_of_the_interface_is_told_where_plugins_look():
    import ixbench.api
    from ixbench.api.hooks import API_VERSION

    assert ixbench.api.API_VERSION == API_VERSION == 1


def test_a_plugin_that_says_the_right_version_is_taken(site):
    site.install("acme-engines", "2.1", {"acme": "ixbench_api = 1\n" + textwrap.dedent(GOOD.format(engine="acme"))})
    host = host_of_site()
    assert host.engine("acme").name == "acme"
    assert texts(host) == []


def test_the_allow_list_is_read_from_the_environment(site):
    done = site.ixbench("plugins", "--json", IXBENCH_PLUGINS="vllm")
    assert [plugin["name"] for plugin in json.loads(done.stdout)["plugins"]] == ["vllm"]
    done = site.ixbench("plugins", IXBENCH_PLUGINS="vlm,builtin")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("ixbench: IXBENCH_PLUGINS: no plugin or distribution 'vlm' is installed; allowed: ")
    assert "did you mean 'vllm'?" in done.stderr
    done = site.ixbench("plugins", IXBENCH_PLUGINS="")
    assert (done.returncode, done.stdout) == (0, "no plugin is loaded: none is installed, or IXBENCH_PLUGINS names none\n")


def test_the_command_lists_failures_and_its_exit_code_tells_of_them(site):
    site.install("bad-dist", "0.3", {"bad": "import no_such_module_at_all"})
    site.install("typo-dist", "0.4", {"typo": GOOD.format(engine="typo").replace("def ixbench_engines", "def ixbench_engins")})
    site.install("acme-engines", "2.1", {"acme": GOOD.format(engine="acme")})
    done = site.ixbench("plugins", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    answer = json.loads(done.stdout)
    assert {plugin["name"] for plugin in answer["plugins"]} >= {"acme", "atom", "builtin", "typo", "vllm"}
    acme = {
        "name": "acme",
        "distribution": "acme-engines",
        "version": "2.1",
        "hooks": ["ixbench_engines"],
        "contributions": {"engines": ["acme"]},
    }
    assert acme in answer["plugins"]
    assert [(failed["plugin"], failed["distribution"], failed["version"], failed["hook"]) for failed in answer["failures"]] == [
        ("bad", "bad-dist", "0.3", None),
        ("typo", "typo-dist", "0.4", "ixbench_engins"),
    ]
    assert "did you mean 'ixbench_engines'?" in answer["failures"][1]["text"]
    done = site.ixbench("plugins")
    assert (done.returncode, done.stderr) == (1, "")
    assert "acme  acme-engines 2.1" in done.stdout
    assert "plugin bad (bad-dist 0.3): ModuleNotFoundError: No module named 'no_such_module_at_all'" in done.stdout
    done = site.ixbench("plugins", IXBENCH_PLUGINS="acme")
    assert (done.returncode, done.stdout) == (0, "acme  acme-engines 2.1\n  engines     acme\n")


def test_a_plugin_that_prints_does_not_spoil_the_json(site):
    noisy = "print('hello')\n" + textwrap.dedent(GOOD.format(engine="acme")).replace("return [Ad", "print('again')\n    return [Ad")
    site.install("acme-engines", "2.1", {"acme": noisy})
    done = site.ixbench("plugins", "--json")
    assert "acme" in {plugin["name"] for plugin in json.loads(done.stdout)["plugins"]}
    assert done.stderr == "hello\nagain\n"


def test_hook_calls_can_be_traced(site):
    site.install("acme-engines", "2.1", {"acme": GOOD.format(engine="acme")})
    site.install("bad-dist", "0.3", {"bad": GOOD.format(engine="bad").replace("return [Adapter()]", "raise OSError('no way')")})
    done = site.ixbench("plugins", "--json", IXBENCH_TRACE_HOOKS="1")
    lines = done.stderr.splitlines()
    assert "ixbench: ixbench_engines(): plugin acme (acme-engines 2.1): Adapter 'acme'" in lines
    assert "ixbench: ixbench_engines(): plugin bad (bad-dist 0.3): raised OSError: no way" in lines
    json.loads(done.stdout)
    assert "plugin" not in site.ixbench("plugins", "--json", IXBENCH_TRACE_HOOKS="0").stderr


TINY = """
schema = 1
title = "Tiny"
[model]
id = "moonshotai/Kimi-K3"
precision = "fp4"
[hardware]
sku = "mi355x"
gpus = 8
[workload]
use = "fixed"
input_tokens = 64
output_tokens = 16
requests = 2
[simulation]
replicas = 1
[[deployment]]
engine = "vllm"
tensor_parallel = 8
concurrency = [1, 2]
"""
MISSING = (
    (
        "plugin heat (lab 0.3) could not be loaded: ModuleNotFoundError: No module named 'no_such_module_at_all'; "
        "whatever it gives, verdict rules included, is missing"
    ),
    (
        "plugin typo (lab 0.3): ixbench_cheks is not called: ixbench has no such hook; did you mean 'ixbench_checks'?; "
        "whatever it gives is missing"
    ),
)


def test_what_may_be_missing_is_told_before_a_run_and_stands_in_its_results(site):
    """A plugin that cannot be imported stops no run, as nobody knows whether it is needed; but it may have had rules that judge."""
    campaign, results = site.folder / "tiny.toml", site.folder / "results"
    campaign.write_text(TINY)
    run = ("run", str(campaign), "--simulate", "--results", str(results))
    assert "note: plugin" not in site.ixbench(*run, "--only", "vllm-c1").stderr
    (folder,) = results.iterdir()
    header = folder / "run.json"
    assert json.loads(header.read_text())["plugin_failures"] == []

    misspelt = "from ixbench.api.hooks import hookimpl\n\n@hookimpl\ndef ixbench_cheks():\n    return []\n"
    site.install("lab", "0.3", {"heat": "import no_such_module_at_all", "typo": misspelt})
    told = [f"note: {note}" for note in MISSING]
    assert site.ixbench("check", str(campaign)).stdout.splitlines()[1:3] == told
    assert site.ixbench("plan", str(campaign)).stderr.splitlines() == told
    assert site.ixbench("plan", str(campaign), "--json").stderr == ""

    done = site.ixbench(*run, "--resume")
    assert [line for line in done.stderr.splitlines() if line.startswith("note: plugin")] == told
    assert "whatever it gives, verdict rules included, is missing." in " ".join(done.stdout.split())
    assert [failed["plugin"] for failed in json.loads(header.read_text())["plugin_failures"]] == ["heat", "typo"]
    view = load_run(folder)
    assert view.notes == MISSING
    sentences = tuple(f"P{note[1:]}." for note in MISSING)
    assert build_ladder([view]).notes[:2] == sentences
    for sentence in sentences:
        assert sentence.replace("[", "\\[") in (folder / "reports" / "table.md").read_text()


AMENDS = """
from dataclasses import replace
from ixbench.api.hooks import hookimpl

@hookimpl
def ixbench_amend_launch(plan, {argument}):
    return replace(plan, notes={notes})
"""


@pytest.mark.parametrize(
    ("argument", "notes", "listed", "told"),
    [
        ("deployment", "'bound'", 0, "notes is of type str; allowed: a tuple of texts, also of a single one: (it,)"),
        (
            "deploymnet",
            "()",
            1,
            (
                "takes the unknown argument 'deploymnet'; allowed: ixbench_amend_launch(plan, deployment); did you mean 'deployment'?; "
                "without its change a launch would not be the one that was asked for: mend the plugin, uninstall it, or leave it out by "
                "IXBENCH_PLUGINS"
            ),
        ),
    ],
    ids=["result", "signature"],
)
def test_an_amendment_that_cannot_be_had_starts_nothing_and_names_its_author(site, argument, notes, listed, told):
    campaign, results = site.folder / "tiny.toml", site.folder / "results"
    campaign.write_text(TINY)
    site.install("lab", "0.3", {"numa": AMENDS.format(argument=argument, notes=notes)})
    assert site.ixbench("plugins").returncode == listed
    for words in (("check",), ("plan",), ("run", "--simulate", "--results", str(results))):
        done = site.ixbench(words[0], str(campaign), *words[1:])
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert done.stderr == f"ixbench: plugin numa (lab 0.3): ixbench_amend_launch: {told}\n"
    assert not results.exists()


def test_points_that_are_imported_keep_what_may_be_missing_too(site):
    row = {"hw": "mi355x", "framework": "vllm", "model": "org/M", "precision": "fp4", "isl": 1024, "osl": 128, "conc": 8, "tp": 8, "ep": 1}
    row |= {"tput_per_gpu": 900.0, "median_ttft": 0.4, "median_tpot": 0.02, "median_e2el": 4.0}
    rows, out = site.folder / "rows.json", site.folder / "imported"
    rows.write_text(json.dumps([row]))
    site.install("lab", "0.3", {"heat": "import no_such_module_at_all"})
    done = site.ixbench("import", str(rows), "--out", str(out))
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, f"note: {MISSING[0]}")
    assert load_run(out).notes == MISSING[:1]
    (view,) = load_runs([rows], host_of_site())
    assert view.notes == MISSING[:1]


def test_a_plugin_that_is_left_out_on_purpose_is_not_missed(site):
    site.install("bad-dist", "0.3", {"bad": "import no_such_module_at_all"})
    assert [failed.plugin for failed in host_of_site().not_loaded] == ["bad"]
    assert make_host(installed_plugins(), allowed="ixbench").not_loaded == ()


def test_a_hook_that_fails_when_it_is_called_says_what_is_missing_itself(site):
    site.install("bad-dist", "0.3", {"bad": GOOD.format(engine="bad").replace("return [Adapter()]", "raise OSError('no way')")})
    host = host_of_site()
    assert [failed.hook for failed in host.failures] == []
    host.engines()
    assert [failed.hook for failed in host.failures] == ["ixbench_engines"]
    assert host.not_loaded == ()
