"""The reporter `compare`: every form says the same, stamps what it must, and shows strangers' names as text."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from ixbench.api.report import InputError
from ixbench.testing.runs import SAMPLE_QUOTES, sample_point, sample_run
from ixbench_plugins.reporters.compare import CompareReporter

NASTY = "<script>alert('x')</script> | **b** \x1b[31m_x_\u202e & `c`\nnew"
PLACES = ((1, 90.0, 2000.0), (8, 60.0, 4000.0), (32, 25.0, 8000.0))


def side(run_id, scale=1.0, *, engines=("vllm",), evidence="measured", fields=None, **identity):
    points = [
        sample_point(
            f"{engine}-c{users}", speed_tok_s_user=x, rate_tok_s_gpu=scale * y, concurrency=users, evidence=evidence,
            **{"engine": engine, **identity},
        )
        for engine in engines
        for users, x, y in PLACES
    ]  # fmt: skip
    return sample_run(*points, id=run_id, **(fields or {}))


def repeated(run_id, *scales):
    points = [
        sample_point(f"vllm-c{users}{f'-rep{number}' if number > 1 else ''}", speed_tok_s_user=x, rate_tok_s_gpu=scale * y,
                     concurrency=users, repeat=number, deployment="vllm")
        for number, scale in enumerate(scales, 1)
        for users, x, y in PLACES
    ]  # fmt: skip
    return sample_run(*points, id=run_id, campaign={"run": {"repeats": len(scales)}})


def render(a, b, **options):
    return {file.name: file.content for file in CompareReporter().render([a, b], CompareReporter.Options(**options))}


def flat(text):
    return " ".join(text.split())


def test_the_four_files_tell_the_same():
    found = render(repeated("one", 1.0, 1.01, 1.02), repeated("two", 1.1, 1.11, 1.12), fail_on=0.03)
    assert list(found) == ["compare.txt", "compare.md", "compare.html", "compare.json"]
    rung = json.loads(found["compare.json"])["ladder"]["primary"]
    assert rung["difference"]["verdict"] == "faster"
    for name in ("compare.txt", "compare.md", "compare.html"):
        text = flat(found[name])
        assert "+9.9 % (95 %: +" in text
        assert "faster" in text
        assert "B may be up to 3.0 % slower: nothing counts against it." in text
        assert "Area under" in text
        assert "within one run" not in text


def test_equal_runs_give_equal_bytes():
    assert render(side("one"), side("two")) == render(side("one"), side("two"))


def test_what_counts_against_b_stands_in_every_form():
    found = render(repeated("one", 1.0, 1.01, 1.02), repeated("two", 0.9, 0.91, 0.92), fail_on=0.03)
    for name in ("compare.txt", "compare.md", "compare.html", "compare.json"):
        assert "at 50 tok/s/user: B is slower, -9.9 %; allowed: -3.0 %" in flat(found[name])
    assert "FAILED: B may be up to 3.0 % slower, and 3 findings count against it." in flat(found["compare.txt"])
    assert '<td class="verdict slower"' in found["compare.html"]


@pytest.mark.parametrize("name", ["compare.txt", "compare.md", "compare.html"])
def test_simulated_and_mismatched_numbers_are_marked_at_every_table(name):
    text = render(side("one"), side("two", evidence="simulated", precision="fp8"), allow_mismatch=True)[name]
    assert "SIMULATED, MISMATCH" in text
    assert "NOT COMPARABLE" in text
    assert "Let pass on demand: B: precision is 'fp8', but 'fp4' in A" in flat(text).replace("&#39;", "'")
    captions = re.findall(r"<caption>(.*?)</caption>", text)
    assert all(caption.endswith("(SIMULATED, MISMATCH)") for caption in captions)
    if name == "compare.html":
        assert len(captions) > 4
        assert '<text class="stamp"' in text
    with pytest.raises(InputError, match="precision"):
        render(side("one"), side("two", precision="fp8"))


def test_an_honest_comparison_has_no_marks():
    found = render(side("one"), side("two"))
    for text in (found["compare.txt"], found["compare.md"], re.sub(r"<style>.*?</style>", "", found["compare.html"], flags=re.DOTALL)):
        assert not re.search("simulated|mismatch|imported", text, re.IGNORECASE)
    assert json.loads(found["compare.json"])["mismatches"] == []


def test_single_runs_say_what_their_interval_is_worth():
    text = flat(render(side("one"), side("two", 0.5))["compare.txt"])
    assert "cannot be told apart: 1 run each" in text
    assert "[run] repeats = 3 in the campaign tells." in text


def test_curves_and_settings_have_tables():
    a = side("one", engines=("vllm", "atom"), image="img:1")
    b = side("two", engines=("vllm", "atom"), image="img:2", fields={"quotes": (replace(SAMPLE_QUOTES[0], usd_per_gpu_hour=3.0),)})
    found = render(a, b)
    for name in ("compare.md", "compare.html"):
        assert found[name].count("vLLM fp4") > 4
        assert "img:2" in found[name]
        assert "USD per GPU-hour" in found[name]
        assert "What a million tokens costs" not in found[name]
    assert "What a million tokens costs" in render(a, side("two", engines=("vllm",)))["compare.html"]


def test_the_page_is_alone_and_its_marks_lead_to_rows():
    page = render(side("one"), side("two"))["compare.html"]
    assert not re.search(r"(?:src|href)=\"(?!#)|<script|<link|@import|url\(", page)
    targets = re.findall(r'<a href="#([^"]+)"', page)
    assert targets
    assert all(f'id="{target}"' in page for target in targets)
    assert page.count('<svg class="chart wide') == page.count('<svg class="chart narrow') == 1
    assert 'class="band"' not in page
    assert "data-theme" not in page.split("<style>")[0]
    assert render(side("one"), side("two"), theme="dark")["compare.html"].startswith('<!DOCTYPE html>\n<html lang="en" data-theme="dark">')


def test_names_of_strangers_are_text():
    fields = {"title": NASTY, "campaign": {"workload": {"use": NASTY}}, "machine": {NASTY: NASTY}}
    found = render(side("one", fields={"title": NASTY}), side("two", deployment=NASTY, engine=NASTY, fields=fields), allow_mismatch=True)
    for name in ("compare.txt", "compare.md", "compare.html"):
        assert "\x1b" not in found[name]
        assert "\u202e" not in found[name]
    assert "<script" not in found["compare.html"]
    assert "<script>" not in re.sub(r"^ {4}.*", "", found["compare.md"], flags=re.MULTILINE).replace("\\<", "")
    rows = [line for line in found["compare.md"].splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows if "new" in row and "machine" in row}) == 1


def test_no_chart_without_points_that_have_a_place():
    def unknown(run_id):
        return sample_run(sample_point("e-c1", speed_tok_s_user=None, rate_tok_s_gpu=None, gpus=None), id=run_id, quotes=())

    found = render(unknown("one"), unknown("two"))
    assert "No chart: no point has both a speed and a rate." in found["compare.html"]
    assert "A has no point with a speed and a rate per GPU" in flat(found["compare.txt"])


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_text_keeps_to_its_width(width):
    text = render(side("one", engines=("vllm", "atom")), side("two", 0.7, engines=("vllm", "atom"), image="img"), width=width)[
        "compare.txt"
    ]
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("count", [0, 1, 3])
def test_two_runs_are_compared_and_no_other_number(count):
    with pytest.raises(InputError, match=rf"{count} runs? given; allowed: two"):
        list(CompareReporter().render([side(f"r{number}") for number in range(count)], CompareReporter.Options()))


def test_the_own_title_stands_first():
    assert render(side("one"), side("two"), title="Nightly")["compare.txt"].startswith("Nightly: B compared with A\n")
    assert render(side("one"), side("two", fields={"title": "Other"}))["compare.md"].startswith(
        "# Model 7B on MI355X and Other: B compared"
    )
