"""MySQL and MariaDB by PyMySQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from penstock.datastream.connectors.databases.client import Connection, DatabaseClient
from penstock.errors import DatabaseClientNotFoundError

_SCHEMA_ERRORS: Final = [(1054,), (1064,), (1146,)]
"""MySQL's numbers for an unknown column, a syntax error and an unknown table."""


@dataclass(frozen=True)
class PyMySqlClient(DatabaseClient):
    """A database of MySQL or MariaDB.

    Args:
        settings: What PyMySQL connects with.
    """

    explains = True
    has_backslashes = True

    settings: tuple[tuple[str, str | int], ...] = field(repr=False)

    @property
    def module(self) -> Any:
        try:
            import pymysql
        except ImportError as error:
            raise DatabaseClientNotFoundError(
                "Rows go to MySQL, but PyMySQL is not installed.",
                hint='Install "penstock[mysql]" for the driver and where the workers run.',
            ) from error
        return pymysql

    def is_about_schema(self, error: Exception) -> bool:
        return error.args[:1] in _SCHEMA_ERRORS

    def connect(self) -> Connection:
        return self.module.connect(charset="utf8mb4", autocommit=False, **dict(self.settings))
