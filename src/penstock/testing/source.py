"""A source whose input is cut into epochs by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo.arrow_types import from_arrow_schema
from penstock.datastream.connectors.base import Source
from penstock.errors import InvalidArgumentError
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.source import EpochSource, NativeSource, TableSource

if TYPE_CHECKING:
    import pyarrow as pa


class TestingSource(Source):
    """Gives the records that a test wants to come in each epoch.

    On a cluster the cut between epochs lies wherever input happens to be there; no program's results
    may depend on it. The first subtask reads all records, in order. The source ends with its last
    epoch.

    Args:
        epochs: For each epoch its records; an epoch may be empty.
        block_size: The most records that go through the operators together.

    Raises:
        InvalidArgumentError: If the block size is not from 1 to 1024.

    Example:
        >>> from penstock.common import WatermarkStrategy
        >>> from penstock.testing import local_environment
        >>> stream = local_environment().from_source(
        ...     TestingSource([[1, 2], [], [3]]), WatermarkStrategy.no_watermarks(), "numbers"
        ... )
        >>> list(stream.key_by(lambda number: 0).sum().execute_and_collect())
        [1, 3, 6]
    """

    __test__ = False  # its name makes pytest take it for tests

    def __init__(self, epochs: Iterable[Sequence[Any]], *, block_size: int = BLOCK_SIZE) -> None:
        if not 1 <= block_size <= BLOCK_SIZE:
            raise InvalidArgumentError(
                f"Blocks cannot have {block_size!r} records.",
                hint=f"Give a block size from 1 to {BLOCK_SIZE}.",
            )
        self._epochs = [list(Block(list(values)).cut(block_size)) for values in epochs] or [[]]

    def description(self) -> NativeSource:
        """See `Source.description`."""
        return EpochSource(self._epochs)


class TestingTableSource(Source):
    """Gives the rows of Arrow tables, as a DataFrame's are given: one table in each epoch.

    What works on the columns of a DataFrame works on theirs. The first subtask reads all rows, in order.
    The source ends with its last epoch.

    Args:
        epochs: For each epoch its rows, all of one schema; there is at least one epoch.

    Example:
        >>> import pyarrow as pa
        >>> from penstock.common import WatermarkStrategy
        >>> from penstock.testing import local_environment
        >>> stream = local_environment().from_source(
        ...     TestingTableSource([pa.table({"word": ["to", "be"]})]),
        ...     WatermarkStrategy.no_watermarks(),
        ...     "words",
        ... )
        >>> list(stream.map(lambda row: row.word).execute_and_collect())
        ['to', 'be']
    """

    __test__ = False  # its name makes pytest take it for tests

    def __init__(self, epochs: Iterable[pa.Table]) -> None:
        tables = list(epochs)
        self._epochs = [
            [batch.to_struct_array() for batch in table.to_batches()] for table in tables
        ]
        self.produced_type = from_arrow_schema(tables[0].schema)

    def description(self) -> NativeSource:
        """See `Source.description`."""
        return TableSource(self._epochs)
