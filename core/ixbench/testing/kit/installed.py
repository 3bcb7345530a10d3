"""What an installed plugin gives, as a run would find it: the suites look at objects, and this at how ixbench comes to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ixbench.host.load import load_host

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ixbench.host.host import Host


def gives(name: str, host: Host | None = None) -> Mapping[str, tuple[str, ...]]:
    """Return the names of what a plugin gives, by kind: `{"engines": ("turbo",)}`.

    It fails the test with what `ixbench plugins` says of the plugin: that it is not installed, cannot be loaded, is for another interface,
    or has a hook that is never called.

    :param host: where the plugin is looked for; None = what is installed.
    """
    host = host or load_host()
    found = {info.source.plugin: info.contributions for info in host.plugins()}
    failures = [str(failed) for failed in host.failures if failed.plugin == name]
    if failures:
        pytest.fail("; ".join(failures), pytrace=False)
    if name not in found:
        pytest.fail(
            f'no plugin {name!r} is installed: pyproject.toml needs the line `{name} = "MODULE"` under [project.entry-points.ixbench]; '
            "after a change of it: pip install -e .",
            pytrace=False,
        )
    return found[name]
