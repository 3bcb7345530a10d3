"""Faults of what a user wrote reach whoever shows them whole, also from a worker process."""

from __future__ import annotations

import pickle

from ixbench.model.errors import Fault, InputError


def test_faults_travel_between_processes():
    error = InputError((Fault(where="a", problem="is wrong"), Fault(where="b", problem="is, too", advice="mend it")))
    found = pickle.loads(pickle.dumps(error))
    assert (type(found), found.faults, str(found)) == (InputError, error.faults, str(error))
