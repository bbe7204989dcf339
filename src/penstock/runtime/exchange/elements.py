"""What flows between operators: blocks of records, and the elements in band between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import compress
from typing import Any, Final, NamedTuple

from penstock.common.rows.data_frame_row import DataFrameRow, RowFactory, factory_of
from penstock.runtime.objects.mutability import all_immutable, copied, copied_if_possible
from penstock.runtime.timestamp import MIN_TIMESTAMP

BLOCK_SIZE: Final = 1024
"""The most records of one block."""


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """One value with its event timestamp in milliseconds, or None if it has none."""

    value: Any
    timestamp: int | None = None


class Partial(NamedTuple):
    """What some records of a key come to that belong to the same windows.

    Attributes:
        records: How many they are.
        value: What they come to: a record, or an accumulator.
    """

    records: int
    value: Any


class Block:
    """A run of records: values, with parallel timestamps and keys where they have any.

    The unit that moves between operators. Operators never change the lists of a block they were
    given, as other operators may hold them too. A value that can be changed is alone in its block, unless
    nobody else has it: so whoever emits a result of a function that may be called again emits it at once,
    or a copy later.

    Attributes:
        values: The values, at most `BLOCK_SIZE` inside a chain.
        timestamps: One event timestamp (milliseconds, or None) per value; None if no value has one.
        keys: One key per value behind a `key_by`, else None.
        is_immutable: Whether no value can be changed; None if nobody has looked.
        is_harmless: Whether the values are known to be plain, and nobody else to have what can be changed in
            one: see `penstock.runtime.objects.harmless`.
    """

    __slots__ = ("_is_immutable", "is_harmless", "keys", "timestamps", "values")

    def __init__(
        self,
        values: list[Any],
        timestamps: list[int | None] | None = None,
        keys: list[Any] | None = None,
        *,
        is_immutable: bool | None = None,
        is_harmless: bool = False,
    ) -> None:
        self.values = values
        self.timestamps = timestamps
        self.keys = keys
        self._is_immutable = is_immutable
        self.is_harmless = is_harmless

    def __len__(self) -> int:
        return len(self.values)

    @property
    def record_count(self) -> int:
        """How many records they are, or stand for."""
        return len(self)

    @property
    def is_immutable(self) -> bool:
        """Whether no value can be changed."""
        if self._is_immutable is None:
            self._is_immutable = all_immutable(self.values)
        return self._is_immutable

    @property
    def is_known_immutable(self) -> bool:
        """Whether somebody has looked, and no value can be changed."""
        return self._is_immutable is True

    @property
    def is_fixed(self) -> bool:
        """Whether the values are known to be plain, and such as nobody can change."""
        return self.is_harmless and self._is_immutable is True

    def settled(self) -> Block:
        """Return the records as they are now, whatever is done to them later by whoever has them.

        A value that cannot be copied stays the same object.
        """
        if len(self) != 1 or self.is_immutable:
            return self
        value = copied_if_possible(self.values[0])
        return Block([value], self.timestamps, self.keys, is_immutable=False)

    def copied(self) -> Block:
        """Return the records with values that nobody else can change.

        Raises:
            Exception: Whatever a value raises that cannot be copied.
        """
        if self.is_immutable:
            return self
        return Block(list(map(copied, self.values)), self.timestamps, self.keys, is_immutable=False)

    def copied_if_possible(self) -> Block:
        """Do the same, but for values that cannot be copied: they stay the same objects."""
        if self.is_immutable:
            return self
        values = list(map(copied_if_possible, self.values))
        return Block(values, self.timestamps, self.keys, is_immutable=False)

    @property
    def layout(self) -> object:
        """What records have to share to be kept together; None where there is nothing."""
        return None

    def __repr__(self) -> str:
        return f"Block({self.values!r}, {self.timestamps!r}, {self.keys!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        values = self.values
        kind = type(values[0]) if values else None
        if kind is not None and issubclass(kind, DataFrameRow) and set(map(type, values)) == {kind}:
            # Rows of one DataFrame are pickled column by column, in a fifth of the time.
            factory = factory_of(kind)
            if factory.names:
                columns = list(zip(*values, strict=True))
                return block_of_rows, (factory, columns, self.timestamps, self.keys)
        if kind is Partial:
            records, partials = zip(*values, strict=True)
            return _block_of_partials, (records, Block(list(partials), self.timestamps, self.keys))
        if self.is_harmless:
            return _harmless_block, (values, self.timestamps, self.keys, self.is_fixed)
        return Block, (values, self.timestamps, self.keys)

    def records(self) -> Iterator[StreamRecord]:
        """Yield the records one by one."""
        if self.timestamps is None:
            return map(StreamRecord, self.values)
        return map(StreamRecord, self.values, self.timestamps)

    def cut(self, size: int = BLOCK_SIZE) -> Iterator[Block]:
        """Yield the same records in blocks of at most `size`."""
        if len(self) <= size:
            yield self
            return
        for start in range(0, len(self), size):
            yield self.part(start, start + size)

    def part(self, start: int, end: int) -> Block:
        """Return the records from `start` up to `end`."""
        return self._mapped(lambda column: column[start:end])

    def chosen(self, mask: list[Any]) -> Block:
        """Return the records at whose place in `mask` is something true."""
        return self._mapped(lambda column: list(compress(column, mask)))

    def reordered(self, order: list[int]) -> Block:
        """Return the records with these indexes, in this order."""
        return self._mapped(lambda column: list(map(column.__getitem__, order)))

    def picked(self, indexes: Sequence[int]) -> Block:
        """Return some of the records, in their order, or all; of records that lie apart without timestamps."""
        first, end = indexes[0], indexes[-1] + 1
        if end - first == len(indexes):
            return self if len(indexes) == len(self) else self.part(first, end)
        values, keys = self.values, self.keys or []
        return Block([values[index] for index in indexes], None, [keys[index] for index in indexes])

    def copy(self) -> Block:
        """Return a block of the same records, for `extend`."""
        return self._mapped(list.copy)

    def with_keys(self, keys: list[Any]) -> Block:
        """Return the same records with these keys."""
        return Block(
            self.values,
            self.timestamps,
            keys,
            is_immutable=self._is_immutable,
            is_harmless=self.is_harmless,
        )

    def with_timestamps(self, timestamps: list[int | None]) -> Block:
        """Return the same records with these timestamps."""
        return Block(
            self.values,
            timestamps,
            self.keys,
            is_immutable=self._is_immutable,
            is_harmless=self.is_fixed,
        )

    def is_like(self, other: Block) -> bool:
        """Whether the records of another block can be added to this one."""
        return (
            self.layout is other.layout
            and (self.timestamps is None) == (other.timestamps is None)
            and (self.keys is None) == (other.keys is None)
        )

    def extend(self, other: Block) -> None:
        """Add the records of a block that is like this one, which nobody else holds."""
        self.values.extend(other.values)
        self._extend_times_and_keys(other)

    def _extend_times_and_keys(self, other: Block) -> None:
        self._is_immutable = (self.is_known_immutable and other.is_known_immutable) or None
        self.is_harmless = self.is_harmless and other.is_harmless
        if self.timestamps is not None:
            self.timestamps.extend(other.timestamps or ())
        if self.keys is not None:
            self.keys.extend(other.keys or ())

    def _mapped(self, change: Callable[[list[Any]], list[Any]]) -> Block:
        return Block(
            change(self.values),
            None if self.timestamps is None else change(self.timestamps),
            None if self.keys is None else change(self.keys),
            # Some of several records may be such as nobody can change.
            is_immutable=self._is_immutable or None,
            is_harmless=self.is_harmless,
        )


def block_of_rows(
    factory: RowFactory,
    columns: Sequence[Sequence[Any]],
    timestamps: list[int | None] | None,
    keys: list[Any] | None,
) -> Block:
    """Return the block that was pickled column by column."""
    return Block(factory.rows(columns), timestamps, keys)


def _harmless_block(
    values: list[Any],
    timestamps: list[int | None] | None,
    keys: list[Any] | None,
    is_fixed: bool,
) -> Block:
    is_immutable = True if is_fixed else None
    return Block(values, timestamps, keys, is_immutable=is_immutable, is_harmless=True)


def _block_of_partials(records: tuple[int, ...], block: Block) -> Block:
    partials = list(map(Partial, records, block.values))
    return Block(partials, block.timestamps, block.keys)


class Watermark(NamedTuple):
    """No record with a timestamp at or below this one comes any more (milliseconds)."""

    timestamp: int


class WatermarkStatus(Enum):
    """Whether a channel takes part in the watermark at all."""

    ACTIVE = "active"
    IDLE = "idle"


class EndOfInput(NamedTuple):
    """The channel has no further record, in this epoch or a later one."""


class ChannelWatermark(NamedTuple):
    """How far event time has come on a channel, or in one split of a source.

    Attributes:
        timestamp: The last watermark, in milliseconds.
        is_idle: Whether it takes no part in the watermark of who reads it.
    """

    timestamp: int = MIN_TIMESTAMP
    is_idle: bool = False


class CheckpointBarrier(NamedTuple):
    """The end of an epoch on one channel.

    Attributes:
        epoch: The number of the epoch that ends here.
        attempt: The sender's attempt: consumers of one sender must all have read the same one.
        watermark: The sender's last watermark, in this epoch or before.
        splits: Behind a source whose splits are known, the last watermark of each that the sender
            read; their names are unique in the source.
    """

    epoch: int
    attempt: str
    watermark: ChannelWatermark = ChannelWatermark()
    splits: tuple[tuple[Any, ChannelWatermark], ...] = ()


Element = Block | Watermark | WatermarkStatus | EndOfInput | CheckpointBarrier
