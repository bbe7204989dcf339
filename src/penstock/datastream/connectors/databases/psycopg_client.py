"""PostgreSQL by psycopg."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.datastream.connectors.databases.client import Connection, DatabaseClient
from penstock.errors import PsycopgNotFoundError


@dataclass(frozen=True)
class PsycopgClient(DatabaseClient):
    """A database of PostgreSQL.

    Args:
        conninfo: Where it is, as libpq reads it.
        settings: More of libpq's settings.
    """

    explains = True
    has_arrays = True
    timestamp_type = "timestamp with time zone"

    conninfo: str = field(repr=False)
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def module(self) -> Any:
        try:
            import psycopg
        except ImportError as error:
            raise PsycopgNotFoundError(
                "Rows go to PostgreSQL, but psycopg is not installed.",
                hint='Install "penstock[postgres]" for the driver and where the workers run.',
            ) from error
        return psycopg

    def is_about_schema(self, error: Exception) -> bool:
        errors = self.module.errors
        kinds = (errors.UndefinedTable, errors.UndefinedColumn, errors.SyntaxError)
        return isinstance(error, (*kinds, errors.InvalidSchemaName))

    def connect(self) -> Connection:
        connection = self.module.connect(self.conninfo, **dict(self.settings))
        from psycopg.types.json import JsonbDumper

        connection.adapters.register_dumper(dict, JsonbDumper)
        return connection
