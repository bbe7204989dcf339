from __future__ import annotations

import pickle

from penstock.common.watermark_strategy import WatermarkStrategy


def test_no_watermarks_is_a_value() -> None:
    strategy = WatermarkStrategy.no_watermarks()

    assert strategy == WatermarkStrategy.no_watermarks() == pickle.loads(pickle.dumps(strategy))
    assert hash(strategy) == hash(WatermarkStrategy.no_watermarks())
    assert strategy != "no_watermarks"
    assert repr(strategy) == "WatermarkStrategy.no_watermarks()"
