from __future__ import annotations

import pickle

from penstock.runtime.chaining_strategy import ChainingStrategy


def test_has_the_names_of_flink_and_travels_to_workers() -> None:
    assert [strategy.name for strategy in ChainingStrategy] == ["ALWAYS", "HEAD", "NEVER"]
    for strategy in ChainingStrategy:
        assert pickle.loads(pickle.dumps(strategy)) is strategy
