"""What the build that a deployment names does not know: flags that would end it at the start, and variables that it passes over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ixbench.api.engine import Finding, did_you_mean, flag_key
from ixbench_atom.builds import K3_VARIABLES, build_of, known_flags
from ixbench_atom.flags import ALIASES, MINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ixbench.api.engine import ArgValue, Deployment
    from ixbench_atom.builds import Build, KnownFlag
    from ixbench_atom.options import AtomOptions

K3 = "the Kimi K3 image"


def against_build(deployment: Deployment[AtomOptions], flags: Sequence[tuple[str, ArgValue]]) -> Iterator[Finding]:
    """Yield what the image's tag says against the flags and variables of a launch."""
    build = build_of(deployment.image, deployment.options.build)
    if build.moving:
        text = f"image {deployment.image} is another build tomorrow, so nothing of it can be checked; name a dated tag or a digest"
        yield Finding(level="warning", code="moving_image", text=text)
    for flag, _ in flags:
        if flag not in MINE and flag.startswith("-") and "=" not in flag:
            yield from _flag(flag, build)
    yield from _k3_only(deployment, flags, build)


def _flag(flag: str, build: Build) -> Iterator[Finding]:
    known = _known(flag)
    if known is None:
        yield _unlisted(flag)
    elif known.since is not None and build.day is not None and known.since > build.day:
        text = f"{flag} came into ATOM on {known.since}, and {build.name} is of {build.day}: it would end with status 2"
        yield Finding(level="error", code="flag_too_new", text=f"{text}; remove what sets it, or take a newer build")
    elif build.both_spellings is False and not _as_registered(flag, known):
        text = f"{flag}: {build.name} of {build.day} knows one spelling of each flag only; write {known.flag}"
        yield Finding(level="error", code="flag_spelling", text=text)


def _known(flag: str) -> KnownFlag | None:
    return known_flags().get(flag_key(flag, ALIASES))


def _as_registered(flag: str, known: KnownFlag) -> bool:
    return not flag.startswith("--") or flag in ALIASES or flag.removeprefix("--no-").removeprefix("--") == known.flag.removeprefix("--")


def _unlisted(flag: str) -> Finding:
    long = [known for name, known in known_flags().items() if name.startswith(flag_key(flag, ALIASES)) and flag.startswith("--")]
    if long:
        text = f"args: {flag} is short for {long[0].flag}, which ATOM takes and ixbench would overlook; write it out"
        return Finding(level="error", code="flag_abbreviated", text=text)
    guess = did_you_mean(flag, tuple(known.flag for known in known_flags().values()))
    hint = f"; {guess}" if guess else ""
    text = f"args: {flag} is none of the flags that ATOM had on 2026-08-22{hint}; a build that does not know it ends with status 2"
    return Finding(level="warning", code="unlisted_flag", text=text)


def _k3_only(deployment: Deployment[AtomOptions], flags: Sequence[tuple[str, ArgValue]], build: Build) -> Iterator[Finding]:
    """Yield what only the purpose-built image knows: its flags end another build, its variables are passed over, and nobody sees that."""
    if build.variant == "kimi_k3":
        return
    special = [flag for flag, _ in flags if (known := _known(flag)) is not None and known.variant == "kimi_k3"]
    special += [f"{flag} -1" for flag, value in flags if flag_key(flag) == "--state-checkpoint-interval-tokens" and str(value) == "-1"]
    variables = [name for name in K3_VARIABLES if name in deployment.env]
    if not build.known:
        if special or variables:
            names = ", ".join((*special, *variables))
            text = f"{names}: known to {K3} only, and which build runs is not known: not verified; tell it with the option build"
            yield Finding(level="warning", code="build_unknown", text=text)
        return
    if special:
        text = f"{', '.join(special)}: known to {K3} only, and {build.name} is another build; remove it or take that image"
        yield Finding(level="error", code="flag_of_other_build", text=text)
    if variables:
        text = f"env {', '.join(variables)}: known to {K3} only; {build.name} passes over it without a word; remove it"
        yield Finding(level="warning", code="variable_of_other_build", text=text)
