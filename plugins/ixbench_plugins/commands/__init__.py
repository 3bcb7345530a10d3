"""The subcommands that come with these plugins."""

from __future__ import annotations

from ixbench_plugins.commands import trace

COMMANDS = (trace.COMMAND,)
