from __future__ import annotations

import datetime
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from tests.datastream.connectors.sink_job import EPOCHS, SINK_ID, NewJob, written_by_key

from penstock.common import Configuration, Row, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.databases.epochs_table import EpochsTable
from penstock.datastream.connectors.postgres import PostgresSink
from penstock.errors import (
    InvalidArgumentError,
    LostEpochError,
    LostOutputError,
    PsycopgNotFoundError,
    SinkNotWritableError,
    SinkRowError,
    SinkTableError,
)
from penstock.runtime.sinks import Uncommitted
from penstock.testing import TestingSource

if TYPE_CHECKING:
    from examples.postgres_server import PostgresServer


class Database:
    """A database of a test's own tables."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._connection = psycopg.connect(uri, autocommit=True)

    def execute(self, statement: str) -> None:
        self._connection.execute(statement.encode())

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement.encode()).fetchall()

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Database]:
    found = Database(postgres.uri)
    found.execute("drop schema if exists tested cascade")
    found.execute("create schema tested")
    found.execute("create table tested.seen (id int not null, name text)")
    found.execute(
        "create table tested.totals (id int primary key, name text, at timestamptz default now())"
    )
    yield found
    found.close()


def sink_of(database: Database, table: str = "tested.seen", **options: Any) -> PostgresSink:
    options.setdefault("columns", ["id", "name"])
    return PostgresSink(database.uri, table, epochs_table="tested.epochs", **options)


SEEN = "select id, name from tested.seen order by id, name"
TOTALS = "select id, name from tested.totals order by id"


class TestEpochs:
    def test_are_written_once(self, database: Database, new_job: NewJob) -> None:
        job = new_job(sink_of(database), parallelism=2)
        job.run([[(1, "a")], [(2, None)]])
        job.publish()
        job.start_driver()
        job.run([[], []])
        job.run([[{"name": "c", "id": 3}], [Row(id=4, name="d")]])

        assert database.rows(SEEN) == [(1, "a"), (2, None), (3, "c"), (4, "d")]
        assert database.rows("select lineage, sink, epoch from tested.epochs") == [
            ("lineage", SINK_ID, 2)
        ]

    def test_that_the_job_does_not_know_any_more_are_named(
        self, database: Database, new_job: NewJob
    ) -> None:
        job = new_job(sink_of(database))
        job.run([[(1, "a")]])
        job.run([[(2, "b")]])
        committer = job.sink.create_committer()
        committer.drop(Uncommitted("lineage", after=1, sink_id=SINK_ID))
        committer.drop(Uncommitted("another", after=-1, sink_id=SINK_ID))
        with pytest.raises(LostEpochError, match="The metadata of epoch 1 is gone"):
            committer.drop(Uncommitted("lineage", after=0, sink_id=SINK_ID))
        committer.close()
        committer.drop(Uncommitted("lineage", sink_id=SINK_ID, is_over=True))

    def test_are_asked_for_before_the_table_that_remembers_them_is_there(
        self, database: Database
    ) -> None:
        committer = sink_of(database).create_committer()
        committer.drop(Uncommitted("lineage", sink_id=SINK_ID))
        committer.open()
        committer.close()

    def test_of_attempts_that_failed_are_not_written(
        self, database: Database, new_job: NewJob
    ) -> None:
        job = new_job(sink_of(database))
        job.begin([[(1, "given up")]])
        job.prepare([[(1, "not committed")]])
        job.kill([0])
        job.run([[(1, "a")]])

        assert database.rows(SEEN) == [(1, "a")]

    def test_are_written_whole_or_not_at_all(
        self, database: Database, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class CrashError(BaseException):
            pass

        def crash(*arguments: Any) -> None:
            raise CrashError

        job = new_job(sink_of(database), parallelism=2)
        job.prepare([[(1, "a")], [(2, "b")]])()
        monkeypatch.setattr(EpochsTable, "remember", crash)
        with pytest.raises(CrashError):
            job.publish()
        monkeypatch.undo()
        assert database.rows(SEEN) == []

        job.start_driver()
        assert database.rows(SEEN) == [(1, "a"), (2, "b")]

    def test_of_two_histories_do_not_meet(self, database: Database, new_job: NewJob) -> None:
        new_job(sink_of(database)).run([[(1, "a")]])
        new_job(sink_of(database), lineage="other").run([[(1, "a")]])

        assert database.rows(SEEN) == [(1, "a"), (1, "a")]

    def test_that_were_lost_are_named(
        self, database: Database, new_job: NewJob, tmp_path: Path
    ) -> None:
        job = new_job(sink_of(database))
        job.prepare([[(1, "a"), (2, "b")]])()
        for path in (tmp_path / "job" / "prepared").iterdir():
            path.unlink()

        with pytest.raises(LostOutputError, match=r"2 rows of epoch 0 .* are not there"):
            job.publish()

    @settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(EPOCHS)
    def test_with_keys_leave_what_came_last(
        self, database: Database, tmp_path: Path, epochs: list[tuple[list[int], str]]
    ) -> None:
        database.execute("truncate tested.totals")
        sink = sink_of(database, "tested.totals", on_conflict="update", conflict_columns=["id"])
        expected = written_by_key(sink, tmp_path, epochs)
        assert database.rows(TOTALS) == expected


class TestConflicts:
    def test_leave_the_first_row(self, database: Database, new_job: NewJob) -> None:
        sink = sink_of(database, "tested.totals", on_conflict="nothing")
        job = new_job(sink)
        job.run([[(1, "a"), (1, "b"), (2, "c")]])
        job.run([[(2, "d"), (3, "e")]])

        assert database.rows(TOTALS) == [(1, "a"), (2, "c"), (3, "e")]

    def test_on_a_key_that_is_all_there_is(self, database: Database, new_job: NewJob) -> None:
        database.execute("create table tested.keys (id int primary key)")
        sink = sink_of(
            database,
            "tested.keys",
            columns=["id"],
            on_conflict="update",
            conflict_columns=["id"],
        )
        job = new_job(sink)
        job.run([[1, 2, 1]])
        job.run([[2, 3]])

        assert database.rows("select id from tested.keys order by id") == [(1,), (2,), (3,)]

    def test_nulls_are_no_keys(self, database: Database, new_job: NewJob) -> None:
        database.execute("alter table tested.seen add unique (name)")
        sink = sink_of(database, on_conflict="update", conflict_columns=["name"])
        new_job(sink).run([[(1, None), (2, None), (3, "a"), (4, "a")]])

        assert database.rows(SEEN) == [(1, None), (2, None), (4, "a")]

    def test_may_be_an_error_until_the_table_is_mended(
        self, database: Database, new_job: NewJob
    ) -> None:
        job = new_job(sink_of(database, "tested.totals"))
        job.run([[(1, "a")]])
        job.prepare([[(2, "b"), (1, "c")]])()
        with pytest.raises(
            SinkRowError, match=r"does not take the row \(1, 'c'\)|does not take rows"
        ):
            job.publish()
        assert database.rows(TOTALS) == [(1, "a")]

        database.execute("delete from tested.totals")
        job.publish()
        assert database.rows(TOTALS) == [(1, "c"), (2, "b")]


class TestRows:
    @pytest.mark.parametrize(
        ("row", "why"),
        [
            (("many", "a"), r"the row \('many', 'a'\): invalid input syntax for type integer"),
            ((2**40, "a"), "out of range"),
            ((None, "a"), "null value in column"),
            ((1, "a\0b"), "NUL"),
            ((1, object()), "cannot adapt"),
            ((1,), r"cannot write \(1,\): it has 1 fields"),
            ({"id": 1}, "KeyError: 'name'"),
            (Row(id=1), "has 1 fields, not 2"),
        ],
    )
    def test_that_do_not_fit_fail_before_the_epoch_is_committed(
        self, database: Database, new_job: NewJob, row: Any, why: str
    ) -> None:
        job = new_job(sink_of(database))

        with pytest.raises(SinkRowError, match=why):
            job.prepare([[(7, "fits"), row]])
        job.kill([0])
        job.run([[(1, "a")]])
        assert database.rows(SEEN) == [(1, "a")]

    def test_are_not_tried_if_nobody_asks(self, database: Database, new_job: NewJob) -> None:
        job = new_job(sink_of(database, check_rows=False))
        job.prepare([[(7, "fits"), ("many", "a")]])()

        with pytest.raises(SinkRowError, match="the row"):
            job.publish()

    def test_have_values_of_many_types(self, database: Database, new_job: NewJob) -> None:
        database.execute(
            "create table tested.kinds (a bigint, b numeric, c timestamptz, d date, e bytea, f jsonb,"
            " g text[], h uuid, i boolean, j double precision, k serial not null)"
        )
        row = (
            2**62,
            Decimal("1.50"),
            datetime.datetime(2024, 5, 17, 12, tzinfo=datetime.UTC),
            datetime.date(2024, 5, 17),
            b"\x00\xff",
            {"a": [1, None, "tab\t\\"]},
            ["x", "y\n"],
            uuid.UUID(int=5),
            True,
            0.1,
        )
        sink = sink_of(database, "tested.kinds", columns=list("abcdefghij"))
        new_job(sink).run([[row, (None,) * 10]])

        assert database.rows("select * from tested.kinds order by k") == [
            (*row, 1),
            (*(None,) * 10, 2),
        ]

    def test_meet_the_checks_of_the_table(self, database: Database, new_job: NewJob) -> None:
        database.execute(
            "alter table tested.seen add check (id < 10), add extra int check (extra > 0)"
        )
        job = new_job(sink_of(database))

        with pytest.raises(SinkRowError, match="check constraint"):
            job.prepare([[(10, "a")]])


class TestWhatIsMissing:
    def test_the_table(self, database: Database, new_job: NewJob) -> None:
        with pytest.raises(SinkTableError, match=r"'tested.gone' cannot be written to"):
            new_job(sink_of(database, "tested.gone"))

    def test_a_column(self, database: Database, new_job: NewJob) -> None:
        with pytest.raises(SinkTableError, match="gone"):
            new_job(sink_of(database, columns=["id", "gone"]))

    def test_the_server(self, new_job: NewJob) -> None:
        sink = PostgresSink(
            "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2", "seen", columns=["id"]
        )
        with pytest.raises(SinkNotWritableError, match="'seen' cannot be reached"):
            new_job(sink)

    def test_the_connection_for_a_while(self, database: Database, new_job: NewJob) -> None:
        job = new_job(sink_of(database))
        job.run([[(1, "a")]])
        database.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where pid <> pg_backend_pid() and backend_type = 'client backend'"
        )
        with pytest.raises(SinkNotWritableError):
            job.prepare([[(2, "b")]])
        job.kill([0])
        job.prepare([[(2, "b")]])()
        with pytest.raises(SinkNotWritableError):
            job.publish()
        job.publish()

        assert database.rows(SEEN) == [(1, "a"), (2, "b")]

    def test_psycopg(
        self, database: Database, new_job: NewJob, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)

        with pytest.raises(PsycopgNotFoundError, match="psycopg is not installed"):
            new_job(sink_of(database))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"columns": []}, "needs the columns"),
        ({"columns": "id"}, "columns is 'id'"),
        ({"columns": ["id", "id"]}, "columns is"),
        ({"columns": ["id"], "on_conflict": "upsert"}, "'upsert' cannot be done"),
        ({"columns": ["id"], "on_conflict": "update"}, "is not among the columns"),
        ({"columns": ["id"], "conflict_columns": ["key"]}, "is not among the columns"),
    ],
)
def test_what_cannot_be_is_refused_at_once(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why):
        PostgresSink("", "seen", **options)


def test_the_operator_can_be_shipped() -> None:
    cloudpickle.loads(cloudpickle.dumps(PostgresSink("", "seen", columns=["id"]).create_operator()))


def test_a_job_that_is_started_again(database: Database, tmp_path: Path) -> None:
    def run(epochs: list[list[tuple[int, str]]]) -> None:
        configuration = Configuration().set_string("execution.target", "local")
        configuration.set_string("execution.checkpointing.dir", str(tmp_path / "job"))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        stream = env.from_source(
            TestingSource(epochs), WatermarkStrategy.no_watermarks(), "rows"
        ).rebalance()
        stream.sink_to(sink_of(database)).set_parallelism(2)
        env.execute()

    bad: list[tuple[Any, str]] = [("many", "c")]
    with pytest.raises(SinkRowError, match="invalid input syntax"):
        run([[(1, "a"), (2, "b")], bad])
    assert database.rows(SEEN) == [(1, "a"), (2, "b")]

    run([[(1, "a"), (2, "b")], [(3, "c")]])
    assert database.rows(SEEN) == [(1, "a"), (2, "b"), (3, "c")]
