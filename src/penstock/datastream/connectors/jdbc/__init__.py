"""Databases that are written to by SQL, under the names of JDBC."""

from __future__ import annotations

from penstock.datastream.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
)
from penstock.datastream.connectors.jdbc.sink import JdbcSink

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]
