"""Faults of what a user wrote reach whoever shows them whole, also from a worker process."""

from __future__ import annotations

import pickle

import pytest

from ixbench.model.errors import Fault, InputError, describe


def test_faults_travel_between_processes():
    error = InputError((Fault(where="a", problem="is wrong"), Fault(where="b", problem="is, too", advice="mend it")))
    found = pickle.loads(pickle.dumps(error))
    assert (type(found), found.faults, str(found)) == (InputError, error.faults, str(error))


@pytest.mark.parametrize(
    ("error", "told"),
    [(KeyError("x"), "KeyError: 'x'"), (ValueError(), "ValueError"), (ValueError("one\n  two\t three"), "ValueError: one two three")],
)
def test_an_exception_is_one_line(error, told):
    assert describe(error) == told
