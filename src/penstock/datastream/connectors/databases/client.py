"""Databases by their own Python clients: modules as PEP 249 describes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from penstock.datastream.connectors.databases.placeholders import with_placeholders

Row = tuple[Any, ...]
Connection = Any
"""A connection as PEP 249 describes it; clients have no class of it in common."""
Cursor = Any


class DatabaseClient(ABC):
    """A client, and how a connection is made with it.

    Attributes:
        explains: Whether the database knows `explain` for statements with parameters.
        number_type: The type of columns that hold the number of an epoch.
        timestamp_type: The type of columns that hold when something was written.
        has_arrays: Whether a column may hold an array.
        has_backslashes: Whether a backslash in a literal makes the next character part of it.
    """

    explains: bool = False
    number_type: str = "bigint"
    timestamp_type: str = "timestamp"
    has_arrays: bool = False
    has_backslashes: bool = False

    @property
    @abstractmethod
    def module(self) -> Any:
        """The client's module, which has its errors and its `paramstyle`."""

    @abstractmethod
    def connect(self) -> Connection:
        """Return a new connection, which commits nothing by itself."""

    def parameter(self, value: Any) -> Any:
        """Return what stands for a value in the client's parameters."""
        return value

    def parameters(self, values: Sequence[Any]) -> Any:
        """Return values as the client takes them with a statement."""
        if self.module.paramstyle == "named":
            return {f"p{position}": value for position, value in enumerate(values, 1)}
        return values

    def statement(self, sql: str) -> str:
        """Return a statement with the client's own placeholders in place of question marks."""
        found, _ = with_placeholders(
            sql, self.module.paramstyle, has_backslashes=self.has_backslashes
        )
        return found

    def count_placeholders(self, sql: str) -> int:
        """Return how many question marks of a statement stand for values."""
        _, count = with_placeholders(sql, "qmark", has_backslashes=self.has_backslashes)
        return count

    def is_about_statement(self, error: Exception) -> bool:
        """Whether an error says that a statement, or a row, is wrong; else the database cannot be used."""
        module = self.module
        kinds = (
            module.DataError,
            module.IntegrityError,
            module.ProgrammingError,
            module.NotSupportedError,
        )
        return isinstance(error, kinds)

    def is_about_schema(self, error: Exception) -> bool:
        """Whether an error says that there is no such table or column, or that a statement cannot be read."""
        return False

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[Cursor]:
        """Commit what is done with a cursor, or nothing of it if that raises."""
        cursor = connection.cursor()
        try:
            yield cursor
            cursor.close()
            connection.commit()
        except BaseException:
            with suppress(self.module.Error):
                connection.rollback()
            raise


@dataclass(frozen=True)
class GivenClient(DatabaseClient):
    """A client that the program brings."""

    number_type = "decimal(19)"
    has_arrays = True

    given: Any
    connection: Callable[[], Connection] = field(repr=False)

    @property
    def module(self) -> Any:
        return self.given

    def connect(self) -> Connection:
        return self.connection()
