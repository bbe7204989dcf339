"""URLs of JDBC, and the clients of the databases that they name."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.common.plain_text import without_logins
from penstock.datastream.connectors.databases.client import DatabaseClient
from penstock.datastream.connectors.databases.psycopg_client import PsycopgClient
from penstock.datastream.connectors.databases.pymysql_client import PyMySqlClient
from penstock.datastream.connectors.databases.sqlite_client import SqliteClient
from penstock.errors import DatabaseClientNotFoundError, InvalidArgumentError

_LIBPQ: Final = frozenset(
    {
        "application_name",
        "channel_binding",
        "connect_timeout",
        "gssencmode",
        "host",
        "options",
        "password",
        "sslcert",
        "sslcrl",
        "sslkey",
        "sslmode",
        "sslrootcert",
        "target_session_attrs",
        "user",
    }
)
_LIBPQ_NAMES: Final = {
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
} | {name: name for name in _LIBPQ}

_TUNING: Final = frozenset(
    {
        # of PostgreSQL's driver
        "binaryTransfer",
        "cancelSignalTimeout",
        "defaultRowFetchSize",
        "logUnclosedConnections",
        "loginTimeout",
        "prepareThreshold",
        "preparedStatementCacheQueries",
        "preparedStatementCacheSizeMiB",
        "reWriteBatchedInserts",
        "socketTimeout",
        "stringtype",
        "tcpKeepAlive",
        "tcpNoDelay",
        # of MySQL's
        "allowPublicKeyRetrieval",
        "autoReconnect",
        "cachePrepStmts",
        "characterEncoding",
        "maintainTimeStats",
        "prepStmtCacheSize",
        "prepStmtCacheSqlLimit",
        "rewriteBatchedStatements",
        "serverTimezone",
        "tinyInt1isBit",
        "useLocalSessionState",
        "useServerPrepStmts",
        "useUnicode",
        "zeroDateTimeBehavior",
    }
)
"""Parameters that tell JDBC's drivers how to work, not what to do."""

_OTHERS: Final = {
    "oracle": "oracledb",
    "sqlserver": "pyodbc",
    "db2": "ibm_db_dbi",
    "snowflake": "snowflake.connector",
    "trino": "trino.dbapi",
    "clickhouse": "clickhouse_connect.dbapi",
}


def shown(url: str) -> str:
    """Return a URL for messages: without what may be a password in it.

    Example:
        >>> shown("jdbc:postgresql://writer:secret@db/shop?password=secret")
        'jdbc:postgresql://db/shop'
    """
    return without_logins(url.partition("?")[0])


def client_of(url: str, user: str | None, password: str | None) -> DatabaseClient:
    """Return the client for a URL of JDBC.

    Raises:
        InvalidArgumentError: If the URL has parameters that cannot be translated.
        DatabaseClientNotFoundError: If there is none.

    Example:
        >>> client_of("jdbc:sqlite:/data/shop.db", None, None)
        SqliteClient(path='/data/shop.db')
    """
    scheme, _, rest = url.removeprefix("jdbc:").partition(":")
    place, _, query = rest.partition("?")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    if user is not None:
        parameters["user"] = user
    if password is not None:
        parameters["password"] = password
    if url.startswith("jdbc:"):
        if scheme == "postgresql":
            return _postgresql(place, parameters)
        if scheme in {"mysql", "mariadb"}:
            return _mysql(place, parameters)
        if scheme == "sqlite":
            return _sqlite(place, parameters)
    raise _unknown(scheme if url.startswith("jdbc:") else "", url)


def _unknown(scheme: str, url: str) -> DatabaseClientNotFoundError:
    module = _OTHERS.get(scheme, "client")
    return DatabaseClientNotFoundError(
        f"No Python client is known for {shown(url)!r}: penstock itself knows those of jdbc:postgresql:, "
        "jdbc:mysql:, jdbc:mariadb: and jdbc:sqlite:.",
        hint=f"Install the database's own client and give it to the builder: import {module}; "
        f"….with_client({module}, lambda: {module}.connect(…)). Any module of PEP 249 will do. Spark's JDBC "
        'does without: SparkSink("jdbc", …).',
    )


def _postgresql(place: str, parameters: dict[str, str]) -> PsycopgClient:
    settings: dict[str, str] = {}
    for name, value in parameters.items():
        if name == "ssl":
            settings.setdefault("sslmode", "verify-full" if value != "false" else "prefer")
        elif name == "currentSchema":
            settings["options"] = f"-c search_path={value}"
        elif name in _LIBPQ_NAMES:
            settings[_LIBPQ_NAMES[name]] = value
        elif name not in _TUNING:
            raise _unknown_parameter(name, "psycopg")
    if place.startswith("//"):
        return PsycopgClient(f"postgresql:{place}", tuple(settings.items()))
    settings.setdefault("host", "localhost")
    return PsycopgClient("", (*settings.items(), ("dbname", unquote(place.lstrip("/")))))


def _mysql(place: str, parameters: dict[str, str]) -> PyMySqlClient:
    parts = urlsplit(place)
    try:
        settings: dict[str, str | int] = {
            "host": parts.hostname or "localhost",
            "port": parts.port or 3306,
            "database": unquote(parts.path.lstrip("/")),
        }
    except ValueError as error:
        raise InvalidArgumentError(
            f"{shown(f'jdbc:mysql:{place}')!r} cannot be read: {error}.",
            hint="Write jdbc:mysql://host:port/database, with one host.",
        ) from error
    for name, value in parameters.items():
        if name in {"user", "password"}:
            settings[name] = value
        elif name == "connectTimeout":
            settings["connect_timeout"] = _seconds(value)
        elif name not in _TUNING and (name, value.lower()) not in {
            ("useSSL", "false"),
            ("sslMode", "disabled"),
            ("sslMode", "preferred"),
        }:
            raise _unknown_parameter(name, "pymysql")
    return PyMySqlClient(tuple(settings.items()))


def _seconds(milliseconds: str) -> int:
    if not milliseconds.isdecimal():
        raise InvalidArgumentError(
            f"The URL has connectTimeout={milliseconds}, which is no time.",
            hint="Give milliseconds, as a whole number.",
        )
    return max(1, int(milliseconds) // 1000)


def _sqlite(place: str, parameters: dict[str, str]) -> SqliteClient:
    for name in parameters:
        if name not in {"user", "password"}:
            raise _unknown_parameter(name, "sqlite3")
    path = place.removeprefix("file:")
    if path in {"", ":memory:"}:
        raise InvalidArgumentError(
            "A database of SQLite in memory is gone when the job is.",
            hint="Name a file: jdbc:sqlite:/data/shop.db.",
        )
    return SqliteClient(path)


def _unknown_parameter(name: str, module: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The URL has the parameter {name!r}, for which the Python client has no counterpart that penstock "
        "knows.",
        hint=f"Leave it out, or make the connection yourself: with_client({module}, lambda: {module}.connect(…)).",
    )
