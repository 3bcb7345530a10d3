"""The hardware book and its detection."""

from __future__ import annotations

from ixbench_plugins.hardware.book import ShippedHardware

HARDWARE = (ShippedHardware(),)
