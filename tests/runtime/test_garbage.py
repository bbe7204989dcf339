from __future__ import annotations

import gc

from penstock.runtime.garbage import rare_collections


def test_collections_are_rare_inside_and_as_before_behind() -> None:
    before = gc.get_threshold()
    with rare_collections():
        inside = gc.get_threshold()

    assert inside[0] > before[0]
    assert gc.get_threshold() == before
