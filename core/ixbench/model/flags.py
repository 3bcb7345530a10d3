"""From typed options and verbatim `args` to one argv: the rules that every engine adapter shares.

A flag is a pair of name and value, in the order of the command line. Adapters keep one table of `FlagRule`s; `args` replace an equal
flag in its place.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ixbench.model.counts import counted
from ixbench.model.launch import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ixbench.model.deployment import ArgValue

    Flag = tuple[str, ArgValue]

_WHOLE = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagRule:
    """How one typed option becomes flags."""

    option: str
    """Field of the adapter's `Options`."""
    flags: tuple[str, ...]
    """Every flag that it may set, as the engine spells it."""
    make: Callable[[Any, Any], Iterable[Flag]]
    """Gets the option's value, which is not None, and all options."""


def value_flag(option: str, flag: str) -> FlagRule:
    """Return the rule "flag, then the value as it is"."""
    return FlagRule(option=option, flags=(flag,), make=lambda value, _options: [(flag, value)])


def switch_flag(option: str, flag: str, off: str | None = None) -> FlagRule:
    """Return the rule "true: the bare flag; false: the flag `off`, or nothing where there is none"."""

    def make(value: bool, _options: object) -> Iterable[Flag]:
        if value:
            return [(flag, True)]
        return [(off, True)] if off else []

    return FlagRule(option=option, flags=(flag, off) if off else (flag,), make=make)


def flags_of(rules: Iterable[FlagRule], options: object) -> list[Flag]:
    """Return the flags that typed options ask for, in the order of the rules; options that are None ask for nothing."""
    flags: list[Flag] = []
    for rule in rules:
        value = getattr(options, rule.option)
        if value is not None:
            flags += rule.make(value, options)
    return flags


def flag_key(flag: str, aliases: Mapping[str, str] | None = None) -> str:
    """Return what flags of equal meaning share: `--no_enable_x`, `--no-enable-x` and `--enable-x` are one, so are short and long."""
    name = (aliases or {}).get(flag, flag).replace("_", "-")
    return name.replace("--no-", "--", 1) if name.startswith("--no-") else name


def replace_flags(flags: Sequence[Flag], args: Mapping[str, ArgValue], aliases: Mapping[str, str] | None = None) -> list[Flag]:
    """Return the flags with `args` put in: an equal flag is replaced where it stands, false removes it, a new flag comes last.

    :param aliases: the engine's short forms, to the long ones.
    """
    wanted = {flag_key(flag, aliases): (flag, value) for flag, value in args.items()}
    merged: dict[str, Flag] = {}
    for flag, value in flags:
        key = flag_key(flag, aliases)
        merged[key] = wanted.pop(key, (flag, value))
    merged |= wanted
    return [(flag, value) for flag, value in merged.values() if value is not False]


def flags_by_key(flags: Iterable[Flag], aliases: Mapping[str, str] | None = None) -> dict[str, ArgValue]:
    """Return the values of flags by `flag_key`, to read off what a launch really is."""
    return {flag_key(flag, aliases): value for flag, value in flags}


def whole_number(value: ArgValue | None) -> int | None:
    """Return a flag's value as a whole number, or None where it is none."""
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value) else None
    return int(value) if isinstance(value, int) and value >= 0 and not isinstance(value, bool) else None


def numbers_by_option(flags: Iterable[Flag], options: Mapping[str, str], aliases: Mapping[str, str] | None = None) -> dict[str, int | None]:
    """Return the values of options that are whole numbers as the final flags have them, typed or verbatim; None where there is none.

    :param options: typed option -> its long flag.
    """
    found = flags_by_key(flags, aliases)
    return {option: whole_number(found.get(flag)) for option, flag in options.items()}


def number_findings(args: Mapping[str, ArgValue], flags: Iterable[str], aliases: Mapping[str, str] | None = None) -> list[Finding]:
    """Return an error for each of these flags that `args` give something else than a whole number above 0: no rule could count with it.

    :param flags: long flags that take such numbers.
    """
    numbers = set(flags)
    return [
        _error("not_a_number", f"args: {flag} = {compact_json(value)}: allowed: a whole number above 0")
        for flag, value in args.items()
        if value is not False and flag_key(flag, aliases) in numbers and not whole_number(value)
    ]


def queue_findings(concurrency: int | None, sequences: int | None, *, engines: int = 1, source: str = "max_num_seqs") -> list[Finding]:
    """Return a warning where more users are asked for than an engine computes sequences at once: the rest waits in its queue.

    :param sequences: that one engine takes; None = not known.
    :param engines: which share the users, one for each data-parallel rank.
    """
    if concurrency is None or sequences is None or concurrency <= sequences * engines:
        return []
    most = counted(sequences, "sequence") if engines == 1 else f"{sequences * engines} ({sequences} on each of {engines} ranks) sequences"
    text = (
        f"concurrency {concurrency} is more than the {most} that {source} lets run at once: the other "
        f"{concurrency - sequences * engines} wait in the engine's queue, and latencies hold that wait; raise max_num_seqs or lower the "
        "concurrency"
    )
    return [Finding(level="warning", code="queueing", text=text)]


def json_table(value: ArgValue | None) -> dict[str, Any]:
    """Return the table of a JSON flag, given as a table or as text; empty where it is neither."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def args_findings(args: Mapping[str, ArgValue], *, reserved: Mapping[str, str], aliases: Mapping[str, str] | None = None) -> list[Finding]:
    """Return what is wrong with verbatim `args`: keys that are no flags, one flag in two spellings, flags that are not the user's to set.

    :param reserved: long flags that args must not hold, each with what to do instead.
    """
    findings: list[Finding] = []
    seen: dict[str, str] = {}
    for flag in args:
        key = flag_key(flag, aliases)
        if not flag.startswith("-"):
            findings.append(_error("not_a_flag", f"args: '{flag}' is no flag; write it with its dashes, '--{flag}'"))
        elif "=" in flag:
            name, _, value = flag.partition("=")
            findings.append(_error("not_a_flag", f"args: '{flag}' holds its value; write {name} = {compact_json(value)}"))
        elif key in reserved:
            findings.append(_error("reserved_flag", f"args: {flag} can't be set here; {reserved[key]}"))
        elif key in seen:
            findings.append(_error("flag_twice", f"args: {seen[key]} and {flag} are one flag; keep one of them"))
        seen.setdefault(key, flag)
    return findings


def replaced_findings(
    rules: Iterable[FlagRule], options: object, args: Mapping[str, ArgValue], aliases: Mapping[str, str] | None = None
) -> list[Finding]:
    """Return a note for each typed option whose flag `args` replace."""
    written = {flag_key(flag, aliases): flag for flag in args}
    findings: list[Finding] = []
    for rule in rules:
        flag = next((written[flag_key(flag)] for flag in rule.flags if flag_key(flag) in written), None)
        if flag is not None and getattr(options, rule.option) is not None:
            text = f"args {flag} replaces what option {rule.option} sets; the option is the better place"
            findings.append(Finding(level="note", code="args_replace_option", text=text))
    return findings


def _error(code: str, text: str) -> Finding:
    return Finding(level="error", code=code, text=text)


def argv_of(flags: Iterable[Flag]) -> tuple[str, ...]:
    """Return command line items: true is the bare flag, false is nothing, a list is one item a value, a table is compact JSON."""
    argv: list[str] = []
    for flag, value in flags:
        if value is False:
            continue
        argv.append(flag)
        if isinstance(value, list):
            argv += [item_text(item) for item in value]
        elif value is not True:
            argv.append(item_text(value))
    return tuple(argv)


def item_text(value: object) -> str:
    """Return one value as a command line item: text as it is, everything else as compact JSON."""
    return value if isinstance(value, str) else compact_json(value)


def compact_json(value: object) -> str:
    """Return JSON without spaces, keys in the order given."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
