from __future__ import annotations

import pickle
import re

from penstock.common.job_id import JobID


def test_is_random_unless_given() -> None:
    assert JobID() != JobID()
    assert re.fullmatch("[0-9a-f]{32}", str(JobID()))


def test_compares_by_its_digits() -> None:
    digits = "00112233445566778899aabbccddeeff"

    assert JobID(digits) == JobID(digits)
    assert hash(JobID(digits)) == hash(JobID(digits))
    assert JobID(digits) != digits
    assert str(JobID(digits)) == digits
    assert repr(JobID(digits)) == f"JobID('{digits}')"
    assert pickle.loads(pickle.dumps(JobID(digits))) == JobID(digits)
