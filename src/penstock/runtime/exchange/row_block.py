"""Rows of a DataFrame that are not made before somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.rows.data_frame_row import RowFactory
from penstock.runtime.exchange.elements import Block, block_of_rows
from penstock.runtime.objects.mutability import all_immutable


class RowBlock(Block):
    """A run of rows as lists, one for each column.

    Rows that only leave for the subtasks of their keys need not be made: measured, that is a quarter of
    what their sender does.

    Args:
        factory: Makes the rows.
        columns: The values of each column; at least one column, all of one length.
        timestamps: As of a block.
        keys: As of a block.
    """

    __slots__ = ("_rows", "columns", "factory")

    def __init__(
        self,
        factory: RowFactory,
        columns: list[list[Any]],
        timestamps: list[int | None] | None = None,
        keys: list[Any] | None = None,
    ) -> None:
        self.factory = factory
        self.columns = columns
        self.timestamps = timestamps
        self.keys = keys
        self._is_immutable = None
        self.is_harmless = False
        self._rows: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def is_immutable(self) -> bool:
        if self._is_immutable is None:
            self._is_immutable = all(map(all_immutable, self.columns))
        return self._is_immutable

    @property
    def layout(self) -> object:
        return self.factory

    def __reduce__(self) -> tuple[Any, ...]:
        return block_of_rows, (self.factory, self.columns, self.timestamps, self.keys)

    @property
    def values(self) -> list[Any]:  # type: ignore[override] # nobody sets it
        """The rows."""
        if self._rows is None:
            self._rows = self.factory.rows(self.columns)
        return self._rows

    def with_keys(self, keys: list[Any]) -> Block:
        return self._alike(self.columns, self.timestamps, keys)

    def extend(self, other: Block) -> None:
        assert isinstance(other, RowBlock)
        for column, more in zip(self.columns, other.columns, strict=True):
            column.extend(more)
        self._rows = None
        self._extend_times_and_keys(other)

    def _mapped(self, change: Callable[[list[Any]], list[Any]]) -> Block:
        return self._alike(
            list(map(change, self.columns)),
            None if self.timestamps is None else change(self.timestamps),
            None if self.keys is None else change(self.keys),
        )

    def _alike(
        self,
        columns: list[list[Any]],
        timestamps: list[int | None] | None,
        keys: list[Any] | None,
    ) -> RowBlock:
        block = RowBlock(self.factory, columns, timestamps, keys)
        block._is_immutable = self._is_immutable or None
        return block
