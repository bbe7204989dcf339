"""SQLite by Python's own module."""

from __future__ import annotations

import datetime
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from penstock.datastream.connectors.databases.client import Connection, DatabaseClient

_PATIENCE: Final = 30.0
"""Seconds to wait for another that writes."""


@dataclass(frozen=True)
class SqliteClient(DatabaseClient):
    """A database of SQLite.

    Args:
        path: Its file.
    """

    explains = True

    path: str

    @property
    def module(self) -> Any:
        import sqlite3  # which some builds of Python are without

        return sqlite3

    def connect(self) -> Connection:
        connection = self.module.connect(self.path, timeout=_PATIENCE, check_same_thread=False)
        with closing(connection.execute("pragma foreign_keys = on")):
            return connection

    def parameter(self, value: Any) -> Any:
        # SQLite has no types for these; the texts are those that its own functions read.
        if isinstance(value, datetime.datetime):
            return value.isoformat(" ")
        if isinstance(value, datetime.date | datetime.time):
            return value.isoformat()
        if isinstance(value, Decimal) or (isinstance(value, int) and abs(value) >> 63):
            return str(value)
        return value

    def is_about_statement(self, error: Exception) -> bool:
        return self.is_about_schema(error) or super().is_about_statement(error)

    def is_about_schema(self, error: Exception) -> bool:
        return bool(getattr(error, "sqlite_errorcode", None) == self.module.SQLITE_ERROR)
