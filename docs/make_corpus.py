"""Writes docs/corpus.md: what generated corpora are drawn from and what comes out. Run it after any change to a profile."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench_plugins.agentx.corpus.generate import generate
from ixbench_plugins.agentx.corpus.laws import CorpusNumber, Law
from ixbench_plugins.agentx.corpus.profiles import AGENTX, OPEN
from ixbench_plugins.agentx.corpus.published import AGENTX_SHARES, OPEN_QUANTILES, OPEN_SHARES, PERCENTS
from ixbench_plugins.agentx.corpus.statistics import statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ixbench_plugins.agentx.corpus.profile import CorpusProfile
    from ixbench_plugins.agentx.corpus.published import PublishedShare
    from ixbench_plugins.agentx.corpus.statistics import Statistics

PAGE = Path(__file__).with_name("corpus.md")
SEED = 0
OPEN_SESSIONS = 4 * 710
AGENTX_SESSIONS = 4 * 393
"""Four corpora of the published size each: what is rare, such as subagents in `open`, would else be chance alone."""
WHOLE_FROM = 100
"""Larger numbers are shown without decimals."""

HEAD = """\
# Generated corpora

Recorded agentic sessions are large, and not everyone may have them. `ixbench trace generate` draws sessions that nobody recorded:
lengths, block ids and times, no text. They are valid trace files, read and replayed like recorded ones.

```text
ixbench trace generate --profile agentx --sessions 393 --seed 1 --out corpus
```

There are two profiles.

- **agentx** is like the AgentX corpus, as far as its public figures tell: long contexts, and many subagents. `traces = "builtin"` is
  this one.
- **open** is fitted to 710 sessions that anyone can read: those of kv-cache-tester (commit 94f6046, Apache-2.0) whose files are
  smaller than 4 MiB.

Equal arguments give equal bytes. Trace number i depends on the profile, the seed and i alone, so a longer corpus begins with the shorter
one. A generated corpus is no recording: a result on it compares with results on the same corpus only.

## How a session is drawn

A root starts fresh or resumes a session with a history. Each of its requests is the one before, its answer and new content; now and
then it loses its last blocks (an edit), keeps only its prefix (another context), or is compacted where it passes its window. Subagents
are launched by a root request, start with a context of their own, and most of them keep the next root request waiting. From the end of
a request to the next start a gap passes; the request itself took a recorded time that grows with its answer.

What is left out: agents hidden among the requests of another one, requests for titles, several models in one stream, a change of pace
within a session. So a generated trace has exactly the streams that its file names.

Declared choices of `agentx`, beyond what its public figures tell:

- all gaps are cut off at {longest_gap_s:g} s, as the replay cuts idle time, and then **multiplied by {gap_factor:g}**: undivided gaps
  leave 20 sessions too idle to slow a simulated engine down as far as published points go. At 48 sessions and more, undivided gaps
  would come nearer to published request rates;
- {reset_share:.0%} of root requests keep only the prefix. Without these more of the input is found in the cache than was published;
- the shares and lengths were set by input share, hit share, mean lengths and the share of subagents. **None was tuned to a throughput.**
"""

OPEN_HEAD = """\
## Statistics of `open`

{sessions} generated sessions against the 710 recorded ones. The distance is the largest one between the two distributions at the published
quantiles; a test holds it to what is allowed.
"""

AGENTX_HEAD = """\
## Statistics of `agentx`

{sessions} generated sessions. Of the real corpus the files' own statistics are mostly not public; what runs of one hour measured is: there
mean inputs are 103,000 to 152,000 tokens, mean outputs 913 to 1,041, the input share is 99.2 % and 93.7 % of the input is found in the
cache. An hour is not the file: short sessions come as often as long ones, and all begin in the middle. A test holds the range.
"""


LAW_HEAD = """## What `{name}` is drawn from

{summary}. Each law is cut off at the least and largest values given with it.

"""


def page() -> str:
    """Return the text of docs/corpus.md."""
    open_, agentx = statistics(generate(OPEN, OPEN_SESSIONS, SEED)), statistics(generate(AGENTX, AGENTX_SESSIONS, SEED))
    choices = {name: getattr(AGENTX, name).value for name in ("longest_gap_s", "gap_factor", "reset_share")}
    percents = [f"p{percent}" for percent in PERCENTS]
    return "\n".join(
        [
            HEAD.format(**choices),
            OPEN_HEAD.format(sessions=f"{OPEN_SESSIONS:,}"),
            table(["quantity", "", *percents, "distance", "allowed"], compared(open_)),
            table(["quantity", "recorded", "generated", "held to", "note"], shares(open_, OPEN_SHARES)),
            AGENTX_HEAD.format(sessions=f"{AGENTX_SESSIONS:,}"),
            table(["quantity", "published", "generated", "held to", "note"], shares(agentx, AGENTX_SHARES)),
            table(["generated", *percents], quantiles(agentx)),
            *(
                LAW_HEAD.format(name=each.name, summary=sentence(each.summary)) + table(["", "law", "source"], laws(each))
                for each in (AGENTX, OPEN)
            ),
        ]
    )


def compared(found: Statistics) -> Iterator[list[str]]:
    """Yield two rows for each published quantity."""
    for name, published in OPEN_QUANTILES.items():
        distance = found.distance(name, published.quantiles, PERCENTS)
        yield [name, "recorded", *map(shown, published.quantiles), "", ""]
        yield [published.why, "generated", *map(shown, found.quantiles(name, PERCENTS)), f"{distance:.2f}", f"{published.allowed:.2f}"]


def shares(found: Statistics, published: Mapping[str, PublishedShare]) -> Iterator[list[str]]:
    """Yield a row for each count, mean or share."""
    for name, share in published.items():
        value = "not known" if share.value is None else shown(share.value)
        yield [name, value, shown(found.shares[name]), f"{shown(share.low)} to {shown(share.high)}", share.why]


def quantiles(found: Statistics) -> Iterator[list[str]]:
    """Yield a row for each quantity that was observed."""
    for name, values in found.quantities.items():
        if len(values):
            yield [name, *map(shown, found.quantiles(name, PERCENTS))]


def laws(profile: CorpusProfile) -> Iterator[list[str]]:
    """Yield a row for each law or number of a profile."""
    for field in fields(profile):
        value = getattr(profile, field.name)
        parts = [(field.name, value)]
        if is_dataclass(value) and not isinstance(value, (Law, CorpusNumber)):
            parts = [(f"{field.name}.{inner.name}", getattr(value, inner.name)) for inner in fields(value)]
        for name, part in parts:
            if isinstance(part, Law):
                yield [f"`{name}`", str(part) + limits(part), part.source]
            elif isinstance(part, CorpusNumber):
                yield [f"`{name}`", f"{part.value:,g}", part.source]
            elif not isinstance(part, str):
                yield [f"`{name}`", {None: "none", True: "yes", False: "no"}[part], ""]


def limits(law: Law) -> str:
    """Return what a law is cut off at."""
    low = f", at least {law.low:,g}" if math.isfinite(law.low) else ""
    return low + (f", at most {law.high:,g}" if math.isfinite(law.high) else "")


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def shown(value: float) -> str:
    """Return a number with the digits that matter."""
    if abs(value) >= WHOLE_FROM or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.4f}".rstrip("0") if abs(value) < 1 else f"{value:.3g}"


def sentence(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
