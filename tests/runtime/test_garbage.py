from __future__ import annotations

import gc

import pytest

from penstock.runtime.garbage import rare_collections


def test_collections_are_rare_inside_and_as_before_behind() -> None:
    before = gc.get_threshold()
    with pytest.raises(OSError, match="inside"), rare_collections():
        inside = gc.get_threshold()
        raise OSError("inside")

    assert inside[0] > before[0]
    assert gc.get_threshold() == before
