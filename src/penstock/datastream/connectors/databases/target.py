"""What rows are written into by a sink for a database: all that its writers and its committer know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from penstock.datastream.connectors.databases.client import (
    Connection,
    Cursor,
    DatabaseClient,
    Row,
)
from penstock.datastream.connectors.databases.epochs_table import EpochsTable
from penstock.errors import PenstockError


class DatabaseTarget(ABC):
    """A table, or a statement.

    Attributes:
        columns: The names of the values of a row.
        epochs_table: The name of the table that remembers epochs.
        max_retries: How often an epoch is tried again if the database cannot be reached.
    """

    columns: tuple[str, ...]
    epochs_table: str
    max_retries: int = 0

    @property
    @abstractmethod
    def client(self) -> DatabaseClient:
        """The database."""

    @property
    @abstractmethod
    def what(self) -> str:
        """What errors call it."""

    @property
    @abstractmethod
    def epochs(self) -> EpochsTable:
        """The table that remembers epochs."""

    def connect(self) -> Connection:
        """Return a new connection.

        Raises:
            SinkNotWritableError: If the server cannot be reached.
        """
        module = self.client.module
        try:
            return self.client.connect()
        except module.Error as error:
            raise self.described(error, ()) from error

    @contextmanager
    def errors(self, rows: Sequence[Row] = ()) -> Iterator[None]:
        """Turn errors of the database into errors of penstock's.

        Args:
            rows: The rows that are being written.
        """
        try:
            yield
        except self.client.module.Error as error:
            raise self.described(error, rows) from error

    @abstractmethod
    def described(self, error: Exception, rows: Sequence[Row]) -> PenstockError:
        """Return what an error of the database means."""

    @abstractmethod
    def row(self, value: Any) -> Row:
        """Return the values of a record; any error says that it is none that can be written.

        Raises:
            LookupError: If a field is missing.
            ValueError: If there are too many, or too few.
            TypeMismatchError: If one is of another type than was declared.
        """

    @property
    def tries_rows(self) -> bool:
        """Whether writers try rows before they stage them."""
        return False

    def create_trial(self, cursor: Cursor) -> None:  # noqa: B027
        """Get ready to try rows."""

    def try_rows(self, cursor: Cursor, rows: Sequence[Row]) -> None:  # noqa: B027
        """Find out whether the database would take rows."""

    @abstractmethod
    def check(self, cursor: Cursor) -> None:
        """Make sure that rows can be written, as far as it can be told."""

    @abstractmethod
    def write(self, cursor: Cursor, parts: Iterator[Sequence[Row]]) -> None:
        """Write the rows of an epoch."""

    def row_by_row(self) -> Self | None:
        """Return what writes row by row, so that an error names the row; None if errors do so anyway."""
        return None
