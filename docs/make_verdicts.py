"""Writes docs/verdicts.md from the verdict rules themselves. Run it after any change to one of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ixbench.cli.metrics import metrics_json
from ixbench.host.load import load_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = Path(__file__).with_name("verdicts.md")
DISTRIBUTION = "ixbench"
_OTHER_CODE = re.compile(r"\bof code (\w+)")

HEAD = """\
# Verdicts

Every point carries a verdict in point.json, in all reports and on the exit code of `ixbench run`: `valid`, `valid_with_warnings` or
`invalid`. An invalid point keeps its numbers, is shown wherever points are listed, and stands on no frontier. Each reason has a `code`, the
`value` that was found, the `limit`, a `text` and a `severity` ("invalid" or "warning"); the worst one decides.

`ixbench show RUN POINT` prints the reasons of a point; `ixbench metrics` prints this page for all plugins that are installed. A campaign
sets another limit by the rule's key; where the limit is a share, 0 to 1 is allowed:

```toml
schema = 1

[workload]
use = "fixed"
requests = 200

[limits]
errors = 0.02              # 2 % of the requests may fail

[[deployment]]
engine = "endpoint"
url = "http://127.0.0.1:8000"
concurrency = [1, 8]
```

Changed limits stand in run.json (`limits`), so that a reader sees them. A rule whose code raises an exception costs a warning of its own
code, never the point. Numbers of simulated and imported points are judged by those rules that their data allow.

Not on this page: why an engine failed (`failure.code`, [engines](engines.md#codes)), and whether energy may be used (`energy.reasons`,
[energy](energy.md#energy-of-a-point)), which never makes a point invalid.

## Whether the answers are right

Speed says nothing of that: a build that computes garbage may be the fastest of all. With `[accuracy]` in the campaign, each launch is asked
questions with known answers, over the API that is measured, greedily, once it is ready and before its first point; so is a server that was
running already. Where too few answers are right, or none came, every point of that launch is invalid (`accuracy_failed`): it is measured
all the same, keeps its numbers, and stands on no ladder.

```toml
schema = 1

[workload]
use = "fixed"
requests = 200

[accuracy]
questions = "grade-school.jsonl"   # {"question": "...", "answer": "... #### 72"} on each line
at_least = 0.9                     # nine of ten must be right
match = "last_number"              # or "exact", "contains"

[[deployment]]
engine = "endpoint"
url = "http://127.0.0.1:8000"
concurrency = [1, 8]
```

- [campaign.md](campaign.md#accuracy) tells all keys. Thinking is no answer: neither what the server gives as reasoning, nor what stands
  before `</think>` in the text; but it counts towards `max_tokens`.
- A set says as much as it has questions: of 100, a model that is right in 95 % of all cases gets 90 or fewer right once in 35 times.
  Take what the model reaches in a precision that you trust, and set `at_least` some points below it.
- Points that are held to different gates, or some to one and some to none, share no ladder, and `ixbench compare` compares them only with
  `--allow-mismatch`. Results of runs without the table and imported ones count as not gated.
- An engine that is started again within one run is not asked again; `--resume` asks again.
- Under forced acceptance of drafts no answer has a meaning: `ixbench check` refuses such a deployment beside `[accuracy]`, be it that its
  recipe forces it. Gate that build in a campaign of its own, with the same settings and real acceptance.
- Simulated engines give no answers, so nothing is asked of them and their points stay valid.
- What came of it stands in point.json (`accuracy`), and each answer in answers.jsonl of the launch
  ([files](run-folder.md)); `ixbench show RUN POINT` lists wrong ones.

Apart from that, where a build may compute garbage (FP4 on GPUs that compute in it, or `sanity = true`), two questions with known answers
are asked before an engine that ixbench starts counts as ready, and a launch that cannot answer them fails (`sanity_failed`).

## The rules

"""


def page() -> str:
    """Return the text of docs/verdicts.md."""
    host = load_host()
    shipped = {info.source.plugin for info in host.plugins() if info.source.distribution == DISTRIBUTION}
    rules = [row for row in metrics_json(host)["checks"] if row["plugin"] in shipped]
    lines = [
        "| code | limit | key |",
        "| --- | --- | --- |",
        *(f"| [`{row['code']}`](#{row['code']}) | {_limit(row)} | {_key(row)} |" for row in rules),
    ]
    return HEAD + "\n".join([*lines, *(line for row in rules for line in _section(row, rules))]) + "\n"


def _section(row: dict[str, Any], rules: Sequence[dict[str, Any]]) -> Iterator[str]:
    code = row["code"]
    yield from ("", f"## {code}", "", row["rule"], "")
    yield f"- Limit: {_limit(row)}{'' if row['limit'] is None else f', set by {_key(row)}'}"
    given = _OTHER_CODE.search(row["rule"])
    if given is not None:
        yield f"- In a verdict: as [`{given[1]}`](#{given[1]})"
    others = [other["code"] for other in rules if other["code"] != code and code in _OTHER_CODE.findall(other["rule"])]
    if others:
        yield f"- Also given by: {', '.join(f'[`{other}`](#{other})' for other in others)}"
    yield f"- What to do: {row['advice']}"


def _limit(row: dict[str, Any]) -> str:
    if row["limit"] is None:
        return "none to set"
    other = f"; agentic {row['agentic_limit']:g}" if row["agentic_limit"] != row["limit"] else ""
    return f"{row['limit']:g}{other}"


def _key(row: dict[str, Any]) -> str:
    return "-" if row["limit"] is None else f"`limits.{row['code']}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
