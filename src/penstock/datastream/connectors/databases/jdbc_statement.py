"""A statement that a JdbcSink executes for each row, and what the database's errors mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from penstock.common.typeinfo.composite_typeinfo import RowTypeInfo
from penstock.datastream.connectors.databases.client import Cursor, DatabaseClient, Row
from penstock.datastream.connectors.databases.epochs_table import EpochsTable
from penstock.datastream.connectors.databases.target import DatabaseTarget
from penstock.errors import PenstockError, SinkNotWritableError, SinkRowError, SinkTableError

_EXPLAINED: Final = re.compile(r"\s*(?:insert|update|delete|replace|merge)\b", re.IGNORECASE)


@dataclass(frozen=True)
class JdbcStatement(DatabaseTarget):
    """A statement with its parameters' types; see `JdbcSink`."""

    sql: str
    columns: tuple[str, ...]
    type_info: RowTypeInfo
    conversions: tuple[Callable[[Any], Any], ...]
    database: DatabaseClient
    place: str
    epochs_table: str
    batch_size: int
    max_retries: int

    @property
    def client(self) -> DatabaseClient:
        return self.database

    @property
    def what(self) -> str:
        return f"the database {self.place!r}"

    @property
    def epochs(self) -> EpochsTable:
        return EpochsTable(self.database, self.epochs_table)

    def row(self, value: Any) -> Row:
        self.type_info.check(value, "the row")
        fields = self.type_info.field_values(value)
        return tuple(
            [
                None if field is None else convert(field)
                for convert, field in zip(self.conversions, fields, strict=True)
            ]
        )

    def check(self, cursor: Cursor) -> None:
        if not self.database.explains or _EXPLAINED.match(self.sql) is None:
            return
        nulls = self.database.parameters([None] * len(self.columns))
        try:
            cursor.execute(self.database.statement(f"explain {self.sql}"), nulls)
        except self.database.module.Error as error:
            if not self.database.is_about_schema(error):
                return  # rows tell, whose values have types
            raise SinkTableError(
                f"{self.place!r} does not take the statement {self.sql!r}: {_text(error)}",
                hint="Fix the statement, or make its table.",
            ) from error

    def write(self, cursor: Cursor, parts: Iterator[Sequence[Row]]) -> None:
        statement = self.database.statement(self.sql)
        for rows in parts:
            size = self.batch_size if self.batch_size > 0 else len(rows)
            for start in range(0, len(rows), size):
                batch = rows[start : start + size]
                with self.errors(batch):
                    cursor.executemany(statement, [self.database.parameters(row) for row in batch])

    def row_by_row(self) -> Self | None:
        return None if self.batch_size == 1 else replace(self, batch_size=1)

    def described(self, error: Exception, rows: Sequence[Row]) -> PenstockError:
        if self.database.is_about_statement(error):
            what = f"the row {rows[0]!r}" if len(rows) == 1 else "rows"
            return SinkRowError(
                f"{self.place!r} does not take {what}: {_text(error)}",
                hint="Fix the row in a map() before the sink, or the table. Then start the job again: it goes "
                "on from there.",
            )
        return SinkNotWritableError(
            f"{self.place!r} cannot be written to: {_text(error)}",
            hint="Make sure that the driver reaches the database and may write to it. Nothing is lost: the job "
            "goes on when it is started again, or by its restart strategy.",
        )


def _text(error: Exception) -> str:
    return str(error).strip() or type(error).__name__
