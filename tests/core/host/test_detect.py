from __future__ import annotations

import pytest

from ixbench.api.hooks import hookimpl
from ixbench.host.contracts.book import DetectedGpu, HardwareBook
from ixbench.host.host import Host
from ixbench.model.errors import PluginError


class Book(HardwareBook):
    summary = "finds what it is told"

    def __init__(self, name, found):
        self.name = name
        self.found = found

    def skus(self):
        return ()

    def detect(self):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Gives:
    def __init__(self, book):
        self.book = book

    @hookimpl
    def ixbench_hardware(self):
        return [self.book]


ONE = DetectedGpu(index=0, sku="x1", name="X1", memory_bytes=None)


def test_all_books_are_asked():
    assert Host.of({"a": Gives(Book("one", (ONE,))), "b": Gives(Book("two", ())), "c": Gives(Book("three", (ONE,)))}).detect() == (ONE, ONE)


def test_a_book_that_fails_is_named():
    host = Host.of({"a": Gives(Book("one", (ONE,))), "b": Gives(Book("two", OSError("no such device")))})
    with pytest.raises(PluginError, match=r"plugin b .*: hardware book two: detect: OSError: no such device"):
        host.detect()
