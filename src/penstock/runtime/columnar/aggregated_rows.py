"""Rows each of which stands for all records of a key and pane: what Spark made of them, and what reads it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.errors import InvalidTimestampError, UnsupportedOperationError
from penstock.runtime.columnar.plan import ColumnPlan
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block, Partial
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.user_code import record_text

if TYPE_CHECKING:
    import pyarrow as pa

SUBTASK: Final = "subtask_number"
"""The column that says which subtask the key of a row belongs to."""

KEY: Final = "group_key"
"""The column that holds the key."""

TIME: Final = "time_in_pane"
"""The column that holds a time in the pane, in milliseconds; null if the records' own is no timestamp."""

RECORDS: Final = "record_count"
"""The column that holds how many records a row stands for."""

HALF: Final = 32
"""Of numbers with 64 bits the upper and the lower half are summed apart, as the sum may have more: so
many bits are in the lower one."""

_MOST_RECORDS: Final = 1 << 31
_SMALL: Final = 1 << 29


class AggregatedBlock(ColumnBlock):
    """Rows each of which stands for all records of a key and pane.

    Args:
        rows: The columns named above, and those of the aggregates: see `given_partials`.
    """

    __slots__ = ("_record_count",)

    def __init__(self, rows: pa.StructArray) -> None:
        super().__init__(rows, rows.field(TIME))
        self._record_count: int | None = None

    def _again(self) -> ColumnBlock:
        return AggregatedBlock(self.rows)

    @property
    def record_count(self) -> int:
        import pyarrow.compute as pc

        if self._record_count is None:
            self._record_count = pc.sum(self.rows.field(RECORDS)).as_py() or 0
        return self._record_count


class AggregatedSourceOperator(SourceOperator):
    """Passes on rows each of which stands for all records of a key and pane.

    They come in the order of their panes, and are of the keys of its subtask.

    Args:
        strategy: Says how the stream gets watermarks.
        interval: The time between periodic watermarks, in milliseconds; 0 for none.
        time: The name of the column that held the timestamps.
    """

    takes_columns = True

    def __init__(self, strategy: WatermarkStrategy, interval: int, time: str) -> None:
        super().__init__(strategy=strategy, interval=interval)
        self._time = time

    def process_split(self, block: Block, split: Hashable) -> None:
        """Process rows. They were counted as they came, and are records of more."""
        assert isinstance(block, ColumnBlock)
        rows = AggregatedBlock(block.rows)
        self._check(rows)
        self.metrics.records_in += rows.record_count - len(rows)
        super().process_split(rows, split)

    def _check(self, block: AggregatedBlock) -> None:
        times = block.rows.field(TIME)
        if times.null_count:
            key = block.rows.field(KEY).filter(times.is_null())[0].as_py()
            raise InvalidTimestampError(
                f"Operator {self.name!r} needs the timestamp of a record with the key "
                f"{record_text(key)}: its column {self._time!r} holds null, or no number above -2**63.",
                hint="Give a frame without such rows to from_data_frame().",
            )


class GivenPartialsOperator(StreamOperator):
    """Sends on what Spark made of the records of each key and pane.

    Args:
        plan: What was computed.
        are_whole: Whether each is all there is of a window: then they stay columns.
    """

    takes_columns = True

    def __init__(self, plan: ColumnPlan, *, are_whole: bool) -> None:
        self._plan = plan
        self._are_whole = are_whole

    def process_block(self, block: Block) -> None:
        assert isinstance(block, AggregatedBlock)
        if self._are_whole:
            self.output.collect(ColumnBlock(block.rows, block.times))
        else:
            self.output.collect(given_partials(block.rows, self._plan))


def given_partials(rows: pa.StructArray, plan: ColumnPlan) -> Block:
    """Return as `Partial`s what rows hold; their columns are those of an `AggregatedBlock`.

    Raises:
        UnsupportedOperationError: See `given_accumulators`.
    """
    from penstock.runtime.exchange.arrow_columns import column_values

    partials = list(map(Partial, rows.field(RECORDS).to_pylist(), given_accumulators(rows, plan)))
    return Block(partials, rows.field(TIME).to_pylist(), column_values(rows.field(KEY)))


def given_accumulators(rows: pa.StructArray, plan: ColumnPlan) -> list[Any]:
    """Return the accumulators that rows hold.

    The columns of aggregate `n` are `n_sum`, or `n_high` and `n_low`, for a sum; `n_count`; `n_min`;
    `n_max`; for a mean those of a sum and a count. A count of all records has none of its own.

    Raises:
        UnsupportedOperationError: If a row stands for so many records that a sum may be wrong.
    """
    counts = rows.field(RECORDS)
    parts = [
        counts.to_pylist() if name is None else _accumulators(rows, number, aggregate.kind)
        for number, (name, aggregate) in enumerate(zip(plan.fields, plan.aggregates, strict=True))
    ]
    return parts[0] if plan.is_single else list(zip(*parts, strict=True))


def _accumulators(rows: pa.StructArray, number: int, kind: str) -> list[Any]:
    if kind in ("sum", "mean"):
        sums = _sums(rows, number)
        if kind == "sum":
            return sums
        counts = rows.field(f"{number}_count").to_pylist()
        pairs = zip(sums, counts, strict=True)
        return [None if total is None else (total, count) for total, count in pairs]
    return rows.field(f"{number}_{kind}").to_pylist()  # type: ignore[no-any-return]


def _sums(rows: pa.StructArray, number: int) -> list[Any]:
    import pyarrow.compute as pc

    name = f"{number}_high"
    if rows.type.get_field_index(name) < 0:
        return rows.field(f"{number}_sum").to_pylist()  # type: ignore[no-any-return]
    most = pc.max(rows.field(RECORDS)).as_py() or 0
    if most >= _MOST_RECORDS:
        raise UnsupportedOperationError(
            f"A key has {most:,} records in one pane of its windows: Spark adds up whole numbers of less "
            f"than {_MOST_RECORDS:,}.",
            hint="Take shorter windows, or set execution.columnar.in-spark to false.",
        )
    high, low = rows.field(name), rows.field(f"{number}_low")
    bounds = pc.min_max(high).as_py()
    least, most = bounds["min"] or 0, bounds["max"] or 0
    if least >= -_SMALL and most < _SMALL and (pc.max(low).as_py() or 0) < _SMALL << HALF:
        return pc.add(pc.shift_left(high, HALF), low).to_pylist()  # type: ignore[no-any-return]
    pairs = zip(high.to_pylist(), low.to_pylist(), strict=True)
    return [None if upper is None else (upper << HALF) + lower for upper, lower in pairs]
