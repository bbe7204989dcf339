from __future__ import annotations

from penstock.datastream import state


def test_everything_is_found_under_pyflinks_path() -> None:
    for name in state.__all__:
        assert getattr(state, name).__name__ == name
    assert {"ValueState", "MapStateDescriptor", "StateTtlConfig"} <= set(state.__all__)
