"""A sink that prepares files: they become visible when the epoch is committed, and only then."""

from __future__ import annotations

from typing import Any

from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.arrow_rows import results_to_table
from penstock.runtime.exchange.elements import Block
from penstock.runtime.operator import StreamOperator
from penstock.runtime.sinks import committable_to_plain


class PreparedSinkOperator(StreamOperator):
    """Writes records into Parquet files of the job's folder, and tells the driver of them.

    Nothing is published here: the driver does, from the list of files of a committed epoch.

    Args:
        schema: The schema of the rows, in whatever form the executor understands.
        sink: What the executor publishes to; it takes it away before the operator is shipped.

    Attributes:
        arrow_schema: The Arrow schema of the rows; the executor sets it before the job starts.
    """

    keeps_to_itself = True
    rows_per_file = 1 << 18

    def __init__(self, schema: Any, sink: Any = None) -> None:
        self.schema = schema
        self.sink = sink
        self.delivers_to = "" if sink is None else f"{type(sink).__qualname__} {sink.place}"
        self.arrow_schema: Any = None

    def begin_epoch(self, epoch: Epoch) -> None:
        self._epoch = epoch
        self._rows: list[Any] = []
        self._files = 0

    def process_block(self, block: Block) -> None:
        self._rows.extend(block.settled().values)
        if len(self._rows) >= self.rows_per_file:
            self._write()

    def flush(self) -> None:
        if self._rows:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = results_to_table(self._rows, self.arrow_schema, f"Sink {self.name!r}")
        name = self._epoch.prepared_name(
            f"{self.operator_id}-{self.context.subtask}-{self._files}.parquet"
        )
        content = pa.BufferOutputStream()
        pq.write_table(table, content)
        self._epoch.storage.write(name, [content.getvalue().to_pybytes()])
        self.to_driver("prepared", (self.operator_id, committable_to_plain(name)))
        self._files += 1
        self._rows = []
