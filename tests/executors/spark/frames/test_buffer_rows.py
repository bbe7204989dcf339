from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.executors.spark.frames.buffer_rows import ORDER, from_batches, to_batches
from penstock.runtime.exchange.buffer import ABORT, Buffer
from penstock.runtime.program import DRIVER
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

SMALL = st.integers(0, 2**31 - 1)
BUFFERS = st.builds(
    Buffer,
    carrier=SMALL,
    vertex=SMALL | st.sampled_from([DRIVER, ABORT]),
    subtask=SMALL,
    rank=st.integers(0, 1),
    watermark=st.integers(MIN_TIMESTAMP, MAX_TIMESTAMP),
    channel=st.integers(-1, 2**63 - 1),
    sequence=SMALL,
    payload=st.binary(max_size=3),
)


@given(st.lists(BUFFERS))
def test_buffers_come_out_as_they_went_in(buffers: list[Buffer]) -> None:
    assert list(from_batches(to_batches(buffers))) == buffers


@given(st.lists(BUFFERS))
def test_the_column_of_the_order_sorts_as_the_order_does(buffers: list[Buffer]) -> None:
    orders = [order for batch in to_batches(buffers) for order in batch.column(ORDER).to_pylist()]
    by_bytes = sorted(range(len(buffers)), key=orders.__getitem__)
    assert by_bytes == sorted(range(len(buffers)), key=lambda index: buffers[index].order)
