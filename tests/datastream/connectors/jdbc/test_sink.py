from __future__ import annotations

import datetime
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
import psycopg
import pymysql
import pytest
from hypothesis import HealthCheck, given, settings
from tests.datastream.connectors.sink_job import EPOCHS, SINK_ID, NewJob, written_by_key

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.databases.epochs_table import EpochsTable
from penstock.datastream.connectors.databases.sqlite_client import SqliteClient
from penstock.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from penstock.errors import (
    DatabaseClientNotFoundError,
    InvalidArgumentError,
    LostEpochError,
    SinkNotWritableError,
    SinkRowError,
    SinkTableError,
    UnsupportedTypeError,
)
from penstock.runtime.sinks import Uncommitted
from penstock.testing import TestingSource

if TYPE_CHECKING:
    from examples.postgres_server import PostgresServer

Builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder

SEEN = Types.ROW([Types.INT(), Types.STRING()])
INSERT = "insert into tested_seen values (?, ?)"
UPSERT = (
    "insert into tested_totals values (?, ?) on conflict (id) do update set name = excluded.name"
)
READ_SEEN = "select id, name from tested_seen order by id, name"
READ_TOTALS = "select id, name from tested_totals order by id"


class Database:
    """A database of a test's own tables."""

    def __init__(self, url: str, connection: Any) -> None:
        self.url = url
        self.connection = connection

    def execute(self, statement: str) -> None:
        self.connection.execute(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(statement).fetchall()
        return found

    def sink(self, sql: str = INSERT, types: Any = SEEN, **execution: int) -> JdbcSink:
        options = Builder().with_url(self.url).with_driver_name("org.some.Driver").build()
        return JdbcSink.sink(
            sql, types, options, JdbcExecutionOptions(**execution), epochs_table="tested_epochs"
        )


@pytest.fixture
def sqlite_database(tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "tested.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield with_tables(Database(f"jdbc:sqlite:{path}", connection))


@pytest.fixture
def postgres_database(postgres: PostgresServer) -> Iterator[Database]:
    with closing(psycopg.connect(postgres.uri, autocommit=True)) as connection:
        info = connection.info
        url = f"jdbc:postgresql://{info.host}:{info.port}/{info.dbname}?user={info.user}"
        yield with_tables(Database(url, connection))


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(f"{request.param}_database")
    return found


def with_tables(database: Database) -> Database:
    for table in ("tested_seen", "tested_totals", "tested_epochs", "tested_kinds"):
        database.execute(f"drop table if exists {table}")
    database.execute("create table tested_seen (id int not null check (id < 10), name text)")
    database.execute("create table tested_totals (id int primary key, name text)")
    return database


class TestEpochs:
    def test_are_written_once(self, database: Database, new_job: NewJob) -> None:
        job = new_job(database.sink(batch_size=2), parallelism=2)
        job.run([[(1, "a"), (1, "b"), (1, "c")], [(2, None)]])
        job.publish()
        job.start_driver()
        job.run([[], []])
        job.run([[{"f1": "c", "f0": 3}], [Row(f1="d", f0=4)]])

        assert database.rows(READ_SEEN) == [
            (1, "a"),
            (1, "b"),
            (1, "c"),
            (2, None),
            (3, "c"),
            (4, "d"),
        ]
        assert database.rows("select lineage, sink, epoch from tested_epochs") == [
            ("lineage", SINK_ID, 2)
        ]
        assert database.rows("select count(*) from tested_epochs where written_at is null") == [
            (0,)
        ]

    def test_are_written_whole_or_not_at_all(
        self, database: Database, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class CrashError(BaseException):
            pass

        def crash(*arguments: Any) -> None:
            raise CrashError

        job = new_job(database.sink(), parallelism=2)
        job.begin([[(9, "given up")], []])
        job.prepare([[(9, "not committed")], []])
        job.kill([0])
        job.prepare([[(1, "a")], [(2, "b")]])()
        monkeypatch.setattr(EpochsTable, "remember", crash)
        with pytest.raises(CrashError):
            job.publish()
        monkeypatch.undo()
        assert database.rows(READ_SEEN) == []

        job.start_driver()
        assert database.rows(READ_SEEN) == [(1, "a"), (2, "b")]

    def test_that_the_job_does_not_know_any_more_are_named(
        self, database: Database, new_job: NewJob
    ) -> None:
        committer = database.sink().create_committer()
        committer.drop(Uncommitted("lineage", sink_id=SINK_ID))
        job = new_job(database.sink())
        job.run([[(1, "a")]])
        job.run([[(2, "b")]])
        committer.drop(Uncommitted("lineage", after=1, sink_id=SINK_ID))
        committer.drop(Uncommitted("another", after=-1, sink_id=SINK_ID))
        with pytest.raises(LostEpochError, match=r"epoch 1 is gone.* the table 'tested_epochs' of"):
            committer.drop(Uncommitted("lineage", after=0, sink_id=SINK_ID))

    @settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(EPOCHS)
    def test_with_keys_leave_what_came_last(
        self, sqlite_database: Database, tmp_path: Path, epochs: list[tuple[list[int], str]]
    ) -> None:
        sqlite_database.execute("delete from tested_totals")
        sink = sqlite_database.sink(UPSERT, batch_size=2)
        expected = written_by_key(sink, tmp_path, epochs)
        assert sqlite_database.rows(READ_TOTALS) == expected


class TestRows:
    @pytest.mark.parametrize(
        ("row", "why"),
        [
            (("many", "a"), r"the row.f0 is no Integer: 'many', a str"),
            ((2**31, "a"), "the row.f0 is no Integer"),
            ((1,), "the row is no RowTypeInfo"),
        ],
    )
    def test_of_other_types_than_declared_fail_before_the_epoch_is_committed(
        self, sqlite_database: Database, new_job: NewJob, row: Any, why: str
    ) -> None:
        job = new_job(sqlite_database.sink())
        with pytest.raises(SinkRowError, match=why):
            job.prepare([[(7, "fits"), row]])

    def test_that_the_database_refuses_are_named_and_written_when_it_takes_them(
        self, database: Database, new_job: NewJob
    ) -> None:
        job = new_job(database.sink())
        job.prepare([[(1, "a"), (10, "b"), (2, "c")]])()
        with pytest.raises(SinkRowError, match=r"does not take the row \(10, 'b'\): .*(?i:check)"):
            job.publish()
        assert database.rows(READ_SEEN) == []

        database.execute("alter table tested_seen rename to tested_old")
        database.execute("create table tested_seen (id int, name text)")
        database.execute("drop table tested_old")
        job.start_driver()
        assert database.rows(READ_SEEN) == [(1, "a"), (2, "c"), (10, "b")]

    def test_have_values_of_many_types(self, database: Database, new_job: NewJob) -> None:
        is_postgres = "postgresql" in database.url
        database.execute(
            "create table tested_kinds (a bigint, b numeric, c timestamp, d date, e time, f "
            + ("bytea" if is_postgres else "blob")
            + ", g boolean, h real, i double precision, j char(1), k numeric)"
        )
        types = [
            Types.LONG(),
            Types.BIG_DEC(),
            Types.SQL_TIMESTAMP(),
            Types.SQL_DATE(),
            Types.SQL_TIME(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.BOOLEAN(),
            Types.FLOAT(),
            Types.DOUBLE(),
            Types.CHAR(),
            Types.BIG_INT(),
        ]
        noon = datetime.datetime(2024, 5, 17, 12)  # noqa: DTZ001 - the column has no zone
        row = (
            2**62,
            Decimal("1.50"),
            noon,
            noon.date(),
            noon.time(),
            bytearray(b"\x00\xff"),
            True,
            0.5,
            1,
            "x",
            2**80,
        )
        sql = f"insert into tested_kinds values ({', '.join('?' * len(types))})"
        new_job(database.sink(sql, Types.ROW(types))).run([[row, (None,) * len(types)]])

        found, nothing = database.rows("select * from tested_kinds order by a is null")
        assert nothing == (None,) * len(types)
        bare = (2**62, Decimal("1.50"), noon, noon.date(), noon.time(), b"\x00\xff", True, 0.5, 1.0)
        if is_postgres:
            assert found == (*bare, "x", 2**80)
        else:
            texts = ("2024-05-17 12:00:00", "2024-05-17", "12:00:00")
            assert found == (2**62, 1.5, *texts, b"\x00\xff", 1, 0.5, 1.0, "x", float(2**80))

    def test_have_arrays_where_the_database_does(
        self, postgres_database: Database, new_job: NewJob
    ) -> None:
        postgres_database.execute("create table tested_kinds (a int[], b text[], c numeric[])")
        types = Types.ROW(
            [
                Types.PRIMITIVE_ARRAY(Types.INT()),
                Types.BASIC_ARRAY(Types.STRING()),
                Types.OBJECT_ARRAY(Types.BIG_DEC()),
            ]
        )
        sink = postgres_database.sink("insert into tested_kinds values (?, ?, ?)", types)
        new_job(sink).run([[([1, 2], ["a", None, "?"], [Decimal("0.5")]), ([], [], [])]])
        assert postgres_database.rows("select * from tested_kinds order by a desc") == [
            ([1, 2], ["a", None, "?"], [Decimal("0.5")]),
            ([], [], []),
        ]


class TestTheDatabase:
    @pytest.mark.parametrize(
        ("sql", "why"),
        [
            ("insert into tested_gone values (?, ?)", "tested_gone"),
            ("insert into tested_seen (id, gone) values (?, ?)", "gone"),
            ("insert tested_seen (?, ?)", "syntax"),
        ],
    )
    def test_is_asked_for_what_it_thinks_of_the_statement(
        self, database: Database, new_job: NewJob, sql: str, why: str
    ) -> None:
        with pytest.raises(SinkTableError, match=rf"does not take the statement[\s\S]*{why}"):
            new_job(database.sink(sql))

    def test_needs_no_types_of_nulls_to_check_a_statement(
        self, postgres_database: Database, new_job: NewJob
    ) -> None:
        sql = "insert into tested_seen (id, name) select ?, cast(? as jsonb) ->> 'name' where true"
        new_job(postgres_database.sink(sql)).run([[(1, '{"name": "a"}')]])
        assert postgres_database.rows(READ_SEEN) == [(1, "a")]

    def test_may_be_away_for_a_while(
        self, postgres_database: Database, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def cut() -> None:
            postgres_database.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where pid <> pg_backend_pid() and backend_type = 'client backend'"
            )

        waited: list[float] = []
        monkeypatch.setattr(time, "sleep", waited.append)
        job = new_job(postgres_database.sink(max_retries=2))
        job.prepare([[(1, "a")]])()
        cut()
        job.publish()
        assert (waited, postgres_database.rows(READ_SEEN)) == ([1], [(1, "a")])

        job = new_job(postgres_database.sink(max_retries=0), lineage="other")
        job.prepare([[(2, "b")]])()
        cut()
        with pytest.raises(SinkNotWritableError, match="cannot be written to"):
            job.publish()
        assert waited == [1]

    def test_is_waited_for_no_longer_than_told(
        self, tmp_path: Path, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "missing" / "tested.db"
        waited: list[float] = []
        monkeypatch.setattr(time, "sleep", waited.append)
        with pytest.raises(SinkNotWritableError, match="unable to open database file"):
            new_job(Database(f"jdbc:sqlite:{path}", None).sink())
        path.parent.mkdir()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("create table tested_seen (id int, name text)")
        job = new_job(Database(f"jdbc:sqlite:{path}", None).sink(max_retries=2))
        job.run([[(1, "a")]])
        job.prepare([[(2, "b")]])()

        def away(client: SqliteClient) -> Any:
            raise sqlite3.OperationalError("unable to open database file")

        monkeypatch.setattr(SqliteClient, "connect", away)
        with pytest.raises(SinkNotWritableError):
            job.start_driver()
        assert waited == []  # opening is not tried again
        monkeypatch.setattr(EpochsTable, "last", away)
        with pytest.raises(SinkNotWritableError):
            job.publish()
        assert waited == [1, 2]

    @pytest.mark.parametrize("paramstyle", ["qmark", "named", "numeric"])
    def test_may_have_a_client_that_the_program_brings(
        self, sqlite_database: Database, new_job: NewJob, tmp_path: Path, paramstyle: str
    ) -> None:
        class Client:
            """A module of PEP 249."""

            def __getattr__(self, name: str) -> Any:
                return paramstyle if name == "paramstyle" else getattr(sqlite3, name)

        path = tmp_path / "tested.db"
        options = (
            Builder()
            .with_url("the till")
            .with_client(Client(), lambda: sqlite3.connect(path))
            .build()
        )
        sink = JdbcSink.sink(INSERT, SEEN, options)
        new_job(sink).run([[(1, "a?")]])
        assert sqlite_database.rows(READ_SEEN) == [(1, "a?")]

    def test_of_mysql_is_reached_by_pymysql(
        self, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        url = "jdbc:mysql://db/shop"
        options = Builder().with_url(url).with_user_name("u").with_password("secret").build()
        assert options.get_db_url() == url
        assert (options.get_user_name(), options.get_password()) == ("u", "secret")
        assert options.get_driver_name() is None
        assert "secret" not in repr(options)
        given: dict[str, Any] = {}
        monkeypatch.setattr(pymysql, "connect", given.update)
        options.client.connect()
        assert (given["host"], given["user"], given["autocommit"]) == ("db", "u", False)
        assert options.client.statement("a = '%?' and b = ?") == "a = '%%?' and b = %s"
        monkeypatch.setitem(sys.modules, "pymysql", None)
        with pytest.raises(DatabaseClientNotFoundError, match="PyMySQL is not installed"):
            new_job(JdbcSink.sink(INSERT, SEEN, options))


class TestOptions:
    def test_have_the_defaults_of_flink(self) -> None:
        options = JdbcExecutionOptions.defaults()
        assert options == JdbcExecutionOptions.builder().build()
        assert options.get_batch_interval_ms() == 0
        assert options.get_batch_size() == 5000
        assert options.get_max_retries() == 3
        others = JdbcExecutionOptions.builder().with_batch_interval_ms(200).with_batch_size(1)
        assert others.with_max_retries(0).build() == JdbcExecutionOptions(200, 1, 0)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Builder().build(),
            lambda: JdbcExecutionOptions.builder().with_max_retries(-1),
            lambda: JdbcExecutionOptions.builder().with_batch_size("many"),  # type: ignore[arg-type]
            lambda: Database("jdbc:sqlite:a.db", None).sink("insert into t values (?, '?')"),
            lambda: Database("jdbc:sqlite:a.db", None).sink(types=Types.STRING()),
            lambda: JdbcSink.sink(INSERT, SEEN, "jdbc:sqlite:a.db"),  # type: ignore[arg-type]
            lambda: JdbcSink.sink(
                INSERT, SEEN, Builder().with_url("jdbc:sqlite:a.db").build(), epochs_table="a b"
            ),
        ],
    )
    def test_that_cannot_be_are_refused_at_once(self, make: Callable[[], Any]) -> None:
        with pytest.raises(InvalidArgumentError):
            make()

    @pytest.mark.parametrize(
        "of", [Types.MAP(Types.STRING(), Types.INT()), Types.BASIC_ARRAY(Types.INT())]
    )
    def test_have_types_that_the_database_has(self, of: Any) -> None:
        with pytest.raises(UnsupportedTypeError):
            Database("jdbc:sqlite:a.db", None).sink("insert into t values (?)", Types.ROW([of]))


def test_the_operator_can_be_shipped() -> None:
    sink = Database("jdbc:sqlite:a.db", None).sink()
    cloudpickle.loads(cloudpickle.dumps(sink.create_operator()))


def test_a_job_that_is_started_again(sqlite_database: Database, tmp_path: Path) -> None:
    def run(epochs: list[list[tuple[Any, str]]]) -> None:
        configuration = Configuration().set_string("execution.target", "local")
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / "job"))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        stream = env.from_source(
            TestingSource(epochs), WatermarkStrategy.no_watermarks(), "rows"
        ).rebalance()
        stream.add_sink(sqlite_database.sink()).set_parallelism(2)
        env.execute()

    with pytest.raises(SinkRowError, match="is no Integer"):
        run([[(1, "a"), (2, "b")], [("many", "c")]])
    assert sqlite_database.rows(READ_SEEN) == [(1, "a"), (2, "b")]

    run([[(1, "a"), (2, "b")], [(3, "c")]])
    assert sqlite_database.rows(READ_SEEN) == [(1, "a"), (2, "b"), (3, "c")]
