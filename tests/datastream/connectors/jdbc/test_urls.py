from __future__ import annotations

import pytest

from penstock.datastream.connectors.databases.psycopg_client import PsycopgClient
from penstock.datastream.connectors.databases.pymysql_client import PyMySqlClient
from penstock.datastream.connectors.databases.sqlite_client import SqliteClient
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions
from penstock.datastream.connectors.jdbc.urls import client_of, shown
from penstock.errors import DatabaseClientNotFoundError, InvalidArgumentError


@pytest.mark.parametrize(
    ("url", "conninfo", "settings"),
    [
        ("jdbc:postgresql://db:5433/shop", "postgresql://db:5433/shop", {}),
        ("jdbc:postgresql://a:1,b:2/shop", "postgresql://a:1,b:2/shop", {}),
        ("jdbc:postgresql:shop", "", {"host": "localhost", "dbname": "shop"}),
        (
            "jdbc:postgresql://db/shop?user=u&ssl=true&ApplicationName=till&reWriteBatchedInserts=true",
            "postgresql://db/shop",
            {"user": "u", "sslmode": "verify-full", "application_name": "till"},
        ),
        (
            "jdbc:postgresql://db/shop?sslmode=require&ssl=true&currentSchema=a%2Cb",
            "postgresql://db/shop",
            {"sslmode": "require", "options": "-c search_path=a,b"},
        ),
    ],
)
def test_of_postgresql(url: str, conninfo: str, settings: dict[str, str]) -> None:
    client = client_of(url, None, None)
    assert isinstance(client, PsycopgClient)
    assert (client.conninfo, dict(client.settings)) == (conninfo, settings)


def test_of_mysql() -> None:
    url = "jdbc:mysql://db/shop?useSSL=false&serverTimezone=UTC&connectTimeout=5000"
    client = client_of(url, "writer", "secret")
    assert isinstance(client, PyMySqlClient)
    assert dict(client.settings) == {
        "host": "db",
        "port": 3306,
        "database": "shop",
        "user": "writer",
        "password": "secret",
        "connect_timeout": 5,
    }
    assert "secret" not in repr(client)


def test_of_sqlite() -> None:
    assert client_of("jdbc:sqlite:/data/shop.db", "nobody", None) == SqliteClient("/data/shop.db")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("jdbc:postgresql://db/shop?sslfactory=mine", "the parameter 'sslfactory'"),
        ("jdbc:mysql://db/shop?useSSL=true", "the parameter 'useSSL'"),
        ("jdbc:mysql://a:1,b:2/shop", "cannot be read"),
        ("jdbc:mysql://db/shop?connectTimeout=5s", "connectTimeout=5s, which is no time"),
        ("jdbc:sqlite::memory:", "in memory is gone"),
        ("jdbc:sqlite:a.db?mode=ro", "the parameter 'mode'"),
    ],
)
def test_that_cannot_be_translated_are_refused(url: str, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        client_of(url, None, None)


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("jdbc:oracle:thin:@db:1521/shop?x=secret", "import oracledb"),
        ("jdbc:oracle:thin:me/secret@//db:1521/shop", "import oracledb"),
        ("jdbc:other:shop", "import client"),
        ("postgresql://db/shop", "with_client"),
    ],
)
def test_of_other_databases_say_how_to_give_a_client(url: str, hint: str) -> None:
    with pytest.raises(DatabaseClientNotFoundError, match=hint) as caught:
        client_of(url, None, None)
    assert "secret" not in str(caught.value)


def test_are_shown_without_logins() -> None:
    url = "jdbc:mysql://me:secret@db:3306/shop?password=secret"
    assert (shown(url), shown("the till's file")) == (
        "jdbc:mysql://db:3306/shop",
        "the till's file",
    )
    options = JdbcConnectionOptions("jdbc:postgresql://me:secret@db/shop")
    assert "secret" not in repr(options) + options.place
