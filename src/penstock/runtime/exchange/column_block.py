"""Records that are still columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.exchange.elements import Block

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnBlock(Block):
    """A run of rows as Arrow columns; they become Python objects where somebody asks for them.

    It may be longer than `BLOCK_SIZE` where all who get it work on columns.

    Args:
        rows: The columns.
        times: The event timestamps in milliseconds, none of them null; None if they have none.
    """

    __slots__ = ("_values", "rows", "times")

    def __init__(self, rows: pa.StructArray, times: pa.Int64Array | None = None) -> None:
        self.rows = rows
        self.times = times
        self.keys = None
        self._is_immutable = None
        self.is_harmless = False
        self._values: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_immutable(self) -> bool:
        import pyarrow as pa

        if self._is_immutable is None:
            kinds = (field.type for field in self.rows.type)
            self._is_immutable = not any(map(pa.types.is_nested, kinds))
        return self._is_immutable

    def copied(self) -> Block:
        """Return the same columns: of each value that can be changed there is another object then."""
        return self if self.is_immutable else self._again()

    def copied_if_possible(self) -> Block:
        return self.copied()  # which is always possible

    def _again(self) -> ColumnBlock:
        return ColumnBlock(self.rows, self.times)

    @property
    def values(self) -> list[Any]:  # type: ignore[override]
        """The rows as users see them."""
        if self._values is None:
            from penstock.runtime.exchange.arrow_columns import rows_of

            self._values = rows_of(self.rows, as_values=False)
        return self._values

    @property
    def timestamps(self) -> list[int | None] | None:  # type: ignore[override]
        """The event timestamps in milliseconds; None if the rows have none."""
        return None if self.times is None else self.times.to_pylist()

    def part(self, start: int, end: int) -> ColumnBlock:
        length = end - start
        times = None if self.times is None else self.times.slice(start, length)
        return ColumnBlock(self.rows.slice(start, length), times)

    def latest(self) -> int:
        """Return the greatest timestamp, in milliseconds."""
        import pyarrow.compute as pc

        assert self.times is not None
        return pc.max(self.times).as_py()  # type: ignore[no-any-return]


def joined(blocks: list[ColumnBlock]) -> tuple[pa.StructArray, pa.Int64Array]:
    """Return the rows and timestamps of several blocks."""
    import pyarrow as pa

    if len(blocks) == 1:
        return blocks[0].rows, blocks[0].times
    rows = pa.concat_arrays([block.rows for block in blocks])
    return rows, pa.concat_arrays([block.times for block in blocks])
