"""`report --set`: another reading of the same points. A key of [report], or `NAME.key` for an option of a reporter."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ixbench.campaign.overrides import parse_override, parse_scalar
from ixbench.campaign.settings import report_settings
from ixbench.campaign.toml_text import parse_toml
from ixbench.model.errors import Fault, InputError, did_you_mean
from ixbench.model.run import ReportSettings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ixbench.campaign.keypath import KeyPath
    from ixbench.host.host import Host

KEYS = tuple(field.name for field in fields(ReportSettings))
LISTS = frozenset({"rungs", "use", "scope"})
"""Keys that hold a list: written `30,50` or `[30, 50]`."""
_WORDS = {"scope": ("all", "community")}
"""Values of such keys that are no list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What `--set` said."""

    report: Mapping[str, Any]
    """Keys of [report]."""
    options: Mapping[str, Mapping[str, Any]]
    """Options by reporter."""

    def apply(self, settings: ReportSettings, host: Host) -> ReportSettings:
        """Return the settings with the keys of [report] replaced.

        Where the rungs are, and the primary one is not among the new ones, the nearest to 50 takes its place.

        :raises InputError: for every value that is not allowed.
        """
        if not self.report:
            return settings
        current: dict[str, Any] = {key: getattr(settings, key) for key in KEYS if key != "use"}
        table = {key: list(value) if isinstance(value, tuple) else value for key, value in current.items()} | dict(self.report)
        rungs = self.report.get("rungs", ())
        if "primary" not in self.report and isinstance(rungs, list) and rungs and settings.primary not in rungs:
            del table["primary"]
        changed, faults = report_settings(table, host, _where, default_axis=settings.axis)
        if changed is None:
            raise InputError(faults)
        return changed if "use" in self.report else replace(changed, use=settings.use)


def read_overrides(sets: Sequence[str], reporters: Collection[str], *, installed: Collection[str] = ()) -> Overrides:
    """Return what `--set` says; the values of [report] are checked by `apply`, a reporter's options by the reporter.

    :param reporters: those in use.
    :param installed: all that there are.
    :raises InputError: for every text that has no such form or names neither a key nor a reporter.
    """
    report: dict[str, Any] = {}
    options: dict[str, dict[str, Any]] = {}
    faults: list[Fault] = []
    for text in sets:
        try:
            keys, value = parse_override(text)
        except InputError as error:
            faults += error.faults
            continue
        if keys[0] in KEYS and len(keys) == 1:
            report[keys[0]] = _as_list(keys[0], value) if keys[0] in LISTS else value
        elif keys[0] in reporters and len(keys) == 2:  # noqa: PLR2004 - a reporter and its key
            options.setdefault(keys[0], {})[keys[1]] = value
        elif keys[0] in installed:
            used = ", ".join(sorted(reporters)) or "none"
            problem = f"reporter {keys[0]!r} is not in use, but {used}"
            faults.append(Fault(where=f"--set {'.'.join(keys)}", problem=problem, advice=f"add --use {keys[0]}"))
        else:
            key = ".".join(keys)
            hint = did_you_mean(key, KEYS)
            allowed = f"{', '.join(KEYS)}, or NAME.key for a reporter in use ({', '.join(sorted(reporters)) or 'none'})"
            faults.append(Fault(where=f"--set {key}", problem="unknown key", allowed="" if hint else allowed, advice=hint))
    if faults:
        raise InputError(faults)
    return Overrides(report=report, options=options)


def _as_list(key: str, value: str | float | bool) -> Any:  # noqa: ANN401 - a value of TOML
    if value in _WORDS.get(key, ()):
        return value
    if not isinstance(value, str):
        return [value]
    if value.startswith("["):
        try:
            return parse_toml(f"list = {value}")["list"]
        except (ValueError, RecursionError):
            return value
    return [parse_scalar(part.strip()) for part in value.split(",") if part.strip()]


def _where(path: KeyPath) -> str:
    return f"--set {path[0]}" if path else "--set"
