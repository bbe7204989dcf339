from __future__ import annotations

from typing import Any

from tests.runtime.state.kit import MakeBackend

from penstock.runtime.timers.rocksdb_caching_priority_queue_set import OrderedStore


def test_ordered_stores_keep_bytes_in_order_apart_from_each_other(new_backend: MakeBackend) -> None:
    backend: Any = new_backend("rocksdb")
    neighbour: Any = new_backend("rocksdb")
    one: OrderedStore = backend.ordered_store(b"a")
    others: list[OrderedStore] = [backend.ordered_store(b"ab"), neighbour.ordered_store(b"a")]
    for key in (b"b2", b"b", b"\xff\xff", b"", b"b1"):
        one.put(key, b"kept " + key)
    for other in others:
        other.put(b"b")
        assert list(other.scan(b"")) == [b"b"]
        assert other.get(b"b") == b""
    assert list(one.scan(b"")) == [b"", b"b", b"b1", b"b2", b"\xff\xff"]
    assert list(one.scan(b"b1")) == [b"b1", b"b2", b"\xff\xff"]
    assert one.get(b"b1") == b"kept b1"
    one.delete(b"b1")
    one.delete(b"unknown")
    assert one.get(b"b1") is None
    assert list(one.scan(b"b1")) == [b"b2", b"\xff\xff"]
    backend.close()
    assert list(others[1].scan(b"")) == [b"b"]
    neighbour.close()
