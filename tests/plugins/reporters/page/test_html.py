"""The HTML file stands alone: well formed, nothing loaded, nothing executed, and no stranger's text becomes markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from pydantic import ValidationError

from ixbench.model.errors import InputError
from ixbench.model.result import Failure
from ixbench.model.run import ReportSettings
from ixbench.testing.runs import SAMPLE_QUOTES, sample_point, sample_run, too_short
from ixbench_plugins.reporters.page import PageReporter

NASTY = "</script></td><script>alert(1)</script><img src=x onerror=alert(2)>\"'&|\x1b[31mred\x1b[0m\x07\u202e\n# big `code` [x](http://y)"
LAUNCH = {
    "runtime": NASTY,
    "runtime_facts": {"image_digest": NASTY},
    "processes": [
        {"name": NASTY, "argv": ["serve", NASTY, f"--{NASTY}"], "env": {NASTY: {"value": NASTY, "reason": NASTY, "origin": NASTY}}}
    ],
    "prepare": [{"script": NASTY, "sha256": NASTY, "reason": NASTY}],
    "amended_by": [NASTY],
}


def usual():
    return sample_run(
        sample_point("vllm-c1", speed_tok_s_user=88.4, rate_tok_s_gpu=2000, concurrency=1),
        sample_point("vllm-c8", speed_tok_s_user=60, rate_tok_s_gpu=5000),
        sample_point("vllm-c16", speed_tok_s_user=40, rate_tok_s_gpu=6000, concurrency=16),
        sample_point("atom-c4", speed_tok_s_user=75, rate_tok_s_gpu=4800, concurrency=4, engine="atom"),
        sample_point("atom-c8", speed_tok_s_user=50, rate_tok_s_gpu=5542, engine="atom"),
        sample_point("vllm-c32", speed_tok_s_user=30, rate_tok_s_gpu=6100, concurrency=32, successes=5, verdict=too_short(5)),
    )


def simulated():
    engine = {"profile": "Model 7B with vLLM", "summary": "not calibrated"}
    provenance = {"launch": "vllm-1", "engine": engine, "simulation": {"replicas": 16}}
    return sample_run(
        *(replace(point, evidence="simulated", provenance=provenance) for point in usual().points[:3]),
        launches={"vllm-1": {"simulated": True}},
    )


def hostile():
    return sample_run(
        sample_point(
            "vllm-c8",
            speed_tok_s_user=60,
            rate_tok_s_gpu=5000,
            **dict.fromkeys(("engine", "model", "precision", "deployment", "workload", "image", "preset", "corpus", "kv_offload"), NASTY),
            engine_version=NASTY,
            spec_method=NASTY,
            settings={NASTY: NASTY},
            hardware=NASTY,
            provenance={"launch": "vllm", "notes": [NASTY], "recipe": NASTY, "engine": {"profile": NASTY, "summary": NASTY}},
        ),
        sample_point(
            "vllm-c16",
            speed_tok_s_user=None,
            rate_tok_s_gpu=None,
            model=NASTY,
            hardware=NASTY,
            failure=Failure(code="oom", cause=NASTY, fix=NASTY),
        ),
        id=NASTY,
        title=NASTY,
        started="2026-11-30T06:45:01Z",
        report=ReportSettings(rungs=(60.0,), primary=60.0),
        quotes=(replace(SAMPLE_QUOTES[0], label=NASTY, source=NASTY, sku=NASTY),),
        machine={"cpu": NASTY, "system": NASTY, "kernel": NASTY, "cpus": NASTY},
        versions={"ixbench": NASTY},
        launches={"vllm": LAUNCH},
    )


@pytest.fixture(params=[usual, simulated, hostile])
def page(request, render):
    return render(request.param())


def test_nothing_is_loaded_and_nothing_is_executed(page):
    assert {tag for tag, _ in page.read.tags}.isdisjoint(
        {"img", "link", "iframe", "object", "embed", "form", "base", "audio", "video", "use"}
    )
    scripts = [attrs for tag, attrs in page.read.tags if tag == "script"]
    assert scripts == [{"type": "application/ld+json"}]
    assert not [name for _, attrs in page.read.tags for name in attrs if name.startswith("on") or name in {"src", "srcset", "style"}]
    assert all(href.startswith("#") for href in page.read.values("href"))
    (style,) = page.read.text("style")
    assert not re.search(r"url\(|@import|https?:|expression", style)
    assert "http-equiv" not in page.html


def test_every_name_is_given_once_and_every_link_leads_somewhere(page):
    names = page.read.values("id")
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"s\d+(-[a-z]+)?(-[a-z]+|-\d+)?", name) for name in names), "no name is a stranger's"
    assert {href[1:] for href in page.read.values("href")} <= set(names)
    assert set(page.read.values("aria-describedby")) <= set(names)


def test_the_chart_can_be_read_without_eyes(page):
    charts = [attrs for tag, attrs in page.read.tags if tag == "svg" and "role" in attrs]
    assert [chart["class"].split()[1] for chart in charts] == ["wide", "narrow"]
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert all("tok/s per GPU against tok/s per user" in words for words in page.read.text("desc"))
    assert [attrs["aria-label"] for tag, attrs in page.read.tags if attrs.get("role") == "region"] == [
        caption.strip() for caption in page.read.tables
    ] or len(page.read.tables) < len(page.read.values("tabindex"))
    assert all(attrs.get("scope") == "col" for tag, attrs in page.read.tags if tag == "th")


def test_no_control_character_is_left(page):
    for text in (page.html, page.markdown):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)


def test_strangers_text_is_text(render):
    page = render(hostile())
    assert "<script>alert" not in page.html
    assert "<img" not in page.html
    assert any("<script>alert(1)</script>" in text for _, text in page.read.texts), "it is shown as it stands"
    prose = re.sub(r"^    .*$", "", page.markdown, flags=re.MULTILINE)
    assert not re.search(r"(?<!\\)<(script|img)", prose)
    assert "](http" not in prose.replace("\\]", "")
    assert not re.search(r"^#+ big", page.markdown, flags=re.MULTILINE)
    reporter = PageReporter()
    assert [artifact.name for artifact in reporter.render([hostile()], reporter.Options())] == ["page.html", "page.md", "page.json"]


def test_the_questions_are_there_for_machines_too(page):
    (script,) = [text for around, text in page.read.texts if around == "script"]
    assert not re.search("[<>&]", script)
    data = json.loads(script)
    assert (data["@context"], data["@type"]) == ("https://schema.org", "FAQPage")
    assert len(data["mainEntity"]) == 5
    shown = {" ".join(text.split()) for text in page.read.text("dt", "dd")}
    for entry in data["mainEntity"]:
        assert entry["@type"] == "Question"
        assert {" ".join(entry["name"].split()), " ".join(entry["acceptedAnswer"]["text"].split())} <= shown


def test_equal_runs_give_equal_bytes(render):
    for make in (usual, simulated, hostile):
        assert (render(make()).html, render(make()).markdown) == (render(make()).html, render(make()).markdown)


def test_simulated_numbers_say_so_everywhere(render):
    page = render(simulated())
    assert "(SIMULATED)" in page.read.text("title")[0]
    assert all("(SIMULATED)" in caption for caption in page.read.tables)
    assert page.says("no engine ran and nothing was measured")
    assert page.says("never: it would have been started so (SIMULATED)")
    assert page.says("A simulated point is the geometric mean of 16 replicas, each with another seed.")
    assert "SIMULATED" in page.read.text("text"), "the chart is stamped"
    assert all("SIMULATED" in row[8] for row in page.rows("Every point"))
    assert all("SIMULATED" in row[6] for row in page.rows("The frontier ladder") if row[1] != "-")
    (script,) = page.read.text("script")
    assert all(entry["acceptedAnswer"]["text"].startswith("SIMULATED: ") for entry in json.loads(script)["mainEntity"])
    assert page.says("250 ms (?)")


def test_a_measured_page_names_no_other_evidence(render):
    page = render(usual())
    shown = " ".join(text for around, text in page.read.texts if around != "style") + page.markdown
    assert not re.search("simulated|imported", shown, re.IGNORECASE)


def test_the_title_and_the_theme_are_options(render):
    page = render(usual(), title="Our <node>", theme="dark")
    assert page.read.text("title")[0] == "Our <node>"
    assert page.markdown.startswith("# Our \\<node\\>\n")
    assert page.read.tags[0] == ("html", {"lang": "en", "data-theme": "dark"})
    assert render(usual()).read.tags[0] == ("html", {"lang": "en"})
    for wrong in ({"theme": "pink"}, {"title": ""}, {"colour": "red"}):
        with pytest.raises(ValidationError):
            PageReporter.Options(**wrong)


def test_both_themes_and_paper_have_every_colour(render):
    (style,) = render(usual()).read.text("style")
    light = set(re.findall(r"(--[\w-]+):", style.partition("@media")[0])) - {"--c"}
    used = set(re.findall(r"var\((--[\w-]+)\)", style)) - {"--c"}
    assert used <= light
    dark = style.partition(":root[data-theme=dark]{--")[2].partition("}")[0]
    assert set(re.findall(r"(--[\w-]+):", f"--{dark}")) == light
    assert "@media print" in style
    assert "@media screen and (prefers-color-scheme:dark)" in style


def test_no_run_is_no_page():
    reporter = PageReporter()
    with pytest.raises(InputError, match="there is none to report"):
        list(reporter.render([], reporter.Options()))


def test_a_run_without_points_is_a_page_too(render):
    campaign = {"model": {"id": "acme/Model-7B"}, "hardware": {"sku": "mi355x"}}
    page = render(sample_run(planned=("vllm-c8",), campaign=campaign))
    assert page.says("not finished: vllm-c8")
    assert page.says("No point can be used: see the table of points.")
    assert page.says("No chart: no point has both a speed and a rate.")
    assert page.says("acme/Model-7B on AMD Instinct MI355X")
