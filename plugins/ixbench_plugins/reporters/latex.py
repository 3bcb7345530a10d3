"""table.tex: the points as a LaTeX table with booktabs, to be read into a paper; nothing in a name can become a command."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from ixbench.api.report import format_rate, notes_on_runs
from ixbench_plugins.reporters.points import LATENCIES, PERCENTILES, THIN_NOTE, sentences_of, successes
from ixbench_plugins.reporters.text import MISSING, clean
from ixbench_plugins.reporters.words import NOT_CREDIBLE, SIMULATED, simulated_notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.api.report import RunView
    from ixbench_plugins.reporters.points import PointRow

_HEAD = """\
% Needs \\usepackage{booktabs,longtable}; read it with \\input{table}, best on a page in landscape.
\\begingroup
\\scriptsize
\\setlength{\\tabcolsep}{3pt}"""
_WORDS = ("point", "engine", "precision", "evidence", "verdict")
_RATES = (("", "tok/s/GPU"), ("", "tok/s"), ("output", "tok/s"), ("", "requests/s"), ("ok /", "requests"))
"""Upper and lower line of their heads."""
_GROUPS = {"ttft_s": ("TTFT", "ms", 1000), "tpot_s": ("TPOT", "ms", 1000), "e2el_s": ("E2EL", "s", 1)}
_COMMANDS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    # These are letters of their own or arguments only beside another one.
    "'": "{'}",
    "-": "{-}",
    ",": "{,}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_LETTERS = frozenset("ßøæœłØÆŒŁ")
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c")
_LAST_ACCENTED = "\u017f"
"""Up to here every LaTeX sets letters with these accents in its default font; an ogonek or a stroke needs another one."""


def latex(text: str) -> str:
    """Return the text so that any LaTeX prints it as it stands; a character that its default font lacks becomes its number, U+6A21."""
    return "".join(_letter(character) for character in clean(text))


def latex_table(rows: Sequence[PointRow], runs: Sequence[RunView], axis: str) -> Iterator[str]:
    """Yield the lines of the file: a table that may be longer than a page, and notes below it."""
    several = len(runs) > 1
    title = f"Points of {len(runs)} runs" if several else f"Points: {runs[0].title}"
    simulated = any(run.evidence == "simulated" for run in runs)
    columns = "l" * len(_WORDS) + "r" * (2 + len(LATENCIES) * len(PERCENTILES) + len(_RATES))
    yield from (_HEAD, f"\\begin{{longtable}}{{{columns}}}", f"\\caption{{{latex(f'{title} ({SIMULATED})' if simulated else title)}}}\\\\")
    yield from ("\\toprule", *_headers(axis), "\\midrule", "\\endfirsthead", "\\toprule", *_headers(axis), "\\midrule", "\\endhead")
    yield from ("\\bottomrule", "\\endfoot")
    for row in rows:
        yield f"{' & '.join(_cells(row, axis, several=several))} \\\\"
    yield "\\end{longtable}"
    notes = [*simulated_notes(row.point for row in rows), *notes_on_runs(runs), *sentences_of(rows)]
    notes += [f"{run.id}: not finished: {', '.join(run.missing)}." for run in runs if run.missing]
    if any(row.is_thin(metric, percentile) for row in rows for metric in LATENCIES for percentile in PERCENTILES):
        notes.append(THIN_NOTE)
    if notes:
        yield from ("\\begin{itemize}", *(f"\\item {latex(note)}" for note in notes), "\\end{itemize}")
    yield "\\endgroup"


def _headers(axis: str) -> list[str]:
    """Return two lines of column names, the upper one with the units of the latencies below it."""
    first = len(_WORDS) + 3
    groups, rules = [], []
    for place, metric in enumerate(LATENCIES):
        name, unit, _ = _GROUPS[metric]
        start = first + place * len(PERCENTILES)
        groups.append(f"\\multicolumn{{{len(PERCENTILES)}}}{{c}}{{{name} ({unit})}}")
        rules.append(f"\\cmidrule(lr){{{start}-{start + len(PERCENTILES) - 1}}}")
    upper = [*[""] * (first - 2), "tok/s/user", *groups, *(above for above, _ in _RATES)]
    lower = [*_WORDS, "users", f"({axis})", *PERCENTILES * len(LATENCIES), *(below for _, below in _RATES)]
    return [f"{' & '.join(upper)} \\\\", "".join(rules), f"{' & '.join(map(latex, lower))} \\\\"]


def _cells(row: PointRow, axis: str, *, several: bool) -> list[str]:
    point = row.point
    name = f"{row.run.id}/{point.id}" if several else point.id
    found = [SIMULATED if point.evidence == "simulated" else point.evidence, *(["imported"] if point.origin == "imported" else [])]
    words = [name, point.identity.engine, point.identity.precision or MISSING, ", ".join(found), row.verdict.removeprefix(f"{SIMULATED}, ")]
    numbers = [row.load, format_rate(row.speed(axis))]
    numbers += [_time(row, metric, percentile) for metric in LATENCIES for percentile in PERCENTILES]
    numbers += [format_rate(row.number("throughput_tok_s_gpu", "total"))]
    numbers += [format_rate(row.number("throughput_tok_s", kind)) for kind in ("total", "output")]
    numbers += [format_rate(row.number("requests_per_s")), successes(point)]
    return [latex(cell) for cell in (*words, *numbers)]


def _time(row: PointRow, metric: str, percentile: str) -> str:
    """Return a latency in the unit of its column, with `*` where too few answers lie beyond it, and marked where it is not credible."""
    value = row.number(metric, percentile)
    _, _, factor = _GROUPS[metric]
    if value is None:
        return MISSING
    doubtful = NOT_CREDIBLE if metric == "ttft_s" and row.point.evidence == "simulated" else ""
    return f"{format_rate(value * factor)}{'*' if row.is_thin(metric, percentile) else ''}{doubtful}"


def _letter(character: str) -> str:
    if character in _COMMANDS:
        return _COMMANDS[character]
    if character.isascii() or character in _LETTERS:
        return character
    base = unicodedata.normalize("NFD", character)
    if character <= _LAST_ACCENTED and base[0].isascii() and set(base[1:]) <= _ACCENTS:
        return character
    return f"\\texttt{{U+{ord(character):04X}}}"
