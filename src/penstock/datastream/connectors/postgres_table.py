"""A table of PostgreSQL that a sink writes to: its statements, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, LiteralString

from penstock.errors import (
    PenstockError,
    PsycopgNotFoundError,
    SinkNotWritableError,
    SinkRowError,
    SinkTableError,
)

if TYPE_CHECKING:
    from psycopg import Connection, Cursor, Error
    from psycopg.sql import Composed

Conflict = Literal["error", "nothing", "update"]
Row = tuple[Any, ...]

_STAGE = "penstock_stage"
_ORDER = "penstock_order"


@dataclass(frozen=True)
class PostgresTable:
    """A table that a sink writes to; see `PostgresSink`."""

    conninfo: str
    name: str
    columns: tuple[str, ...]
    on_conflict: Conflict
    conflict_columns: tuple[str, ...]
    epochs_table: str

    def connect(self) -> Connection[Row]:
        """Return a new connection.

        Raises:
            PsycopgNotFoundError: If psycopg is not installed.
            SinkNotWritableError: If the server cannot be reached.
        """
        try:
            import psycopg
            from psycopg.types.json import JsonbDumper
        except ImportError as error:
            raise PsycopgNotFoundError(
                f"Rows go to the table {self.name!r} of PostgreSQL, but psycopg is not installed.",
                hint='Install "penstock[postgres]" for the driver and where the workers run.',
            ) from error
        with self.errors():
            connection = psycopg.connect(self.conninfo, autocommit=True)
            connection.adapters.register_dumper(dict, JsonbDumper)
            return connection

    @contextmanager
    def errors(self, rows: Sequence[Row] = ()) -> Iterator[None]:
        """Turn errors of PostgreSQL into errors of penstock's.

        Args:
            rows: The rows that are being copied.
        """
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise self._described(error, rows) from error

    def _described(self, error: Error, rows: Sequence[Row]) -> PenstockError:
        import psycopg

        text = str(error).strip() or type(error).__name__
        if isinstance(error, (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)):
            return SinkTableError(
                f"The table {self.name!r} cannot be written to: {text}",
                hint=f"It needs the columns {', '.join(self.columns)}.",
            )
        if isinstance(error, (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError)):
            row = _failing_row(error, rows)
            what = "rows" if row is None else f"the row {row}"
            return SinkRowError(
                f"The table {self.name!r} does not take {what}: {text}",
                hint="Fix the row in a map() before the sink, or the table; on_conflict says what "
                "becomes of keys that exist.",
            )
        return SinkNotWritableError(
            f"The table {self.name!r} cannot be reached: {text}",
            hint="Make sure that the driver and the workers reach the server. Nothing is lost: the job "
            "goes on when it is started again, or by its restart strategy.",
        )

    def check(self, cursor: Cursor[Row]) -> None:
        """Make sure that the table and its columns are there."""
        cursor.execute(self._sql("select {columns} from {table} limit 0"))

    def create_trial(self, cursor: Cursor[Row]) -> None:
        """Make a temporary table that takes what the table takes, row by row; it is always empty."""
        cursor.execute(
            self._sql(
                "create temporary table {stage} (like {table} including constraints)"
                " on commit delete rows"
            )
        )
        cursor.execute(
            "select quote_ident(attname) from pg_attribute where attrelid = %s::regclass"
            " and attnum > 0 and not attisdropped and attname <> all(%s)",
            [f"pg_temp.{_STAGE}", list(self.columns)],
        )
        for (column,) in cursor.fetchall():
            cursor.execute(f"alter table {_STAGE} drop column {column} cascade")

    def copy(self, cursor: Cursor[Row], rows: Sequence[Row], *, staged: bool) -> None:
        """Write rows, into the temporary table or into the table itself."""
        target: LiteralString = "{stage}" if staged else "{table}"
        statement = self._sql("copy " + target + " ({columns}) from stdin")
        with self.errors(rows), cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    def create_stage(self, cursor: Cursor[Row]) -> None:
        """Make a temporary table, for this transaction, that keeps the order of its rows."""
        cursor.execute(
            self._sql(
                "create temporary table {stage} on commit drop as"
                " select {columns} from {table} with no data"
            )
        )
        cursor.execute(self._sql("alter table {stage} add column {order} bigserial"))

    def insert_staged(self, cursor: Cursor[Row]) -> None:
        """Write what is in the temporary table into the table, as `on_conflict` says."""
        if self.on_conflict == "nothing":
            cursor.execute(
                self._sql(
                    "insert into {table} ({columns}) select {columns} from {stage}"
                    " order by {order} on conflict {key} do nothing"
                )
            )
            return
        cursor.execute(
            self._sql(
                "insert into {table} ({columns}) select {columns} from"
                " (select distinct on ({keys}, {single}) * from {stage}"
                " order by {keys}, {single}, {order} desc) latest"
                " on conflict {key} do {action}"
            )
        )

    def last_epoch(self, cursor: Cursor[Row], lineage: str, sink: str) -> int:
        """Return the last epoch that was written, -1 for none; others have to wait meanwhile."""
        cursor.execute(
            self._sql(
                "insert into {epochs} (lineage, sink, epoch) values (%s, %s, -1)"
                " on conflict do nothing"
            ),
            [lineage, sink],
        )
        cursor.execute(
            self._sql("select epoch from {epochs} where lineage = %s and sink = %s for update"),
            [lineage, sink],
        )
        (row,) = cursor.fetchall()
        return int(row[0])

    def remember_epoch(self, cursor: Cursor[Row], lineage: str, sink: str, epoch: int) -> None:
        """Write which epoch is the last."""
        cursor.execute(
            self._sql(
                "update {epochs} set epoch = %s, written_at = now() where lineage = %s and sink = %s"
            ),
            [epoch, lineage, sink],
        )

    def create_epochs_table(self, cursor: Cursor[Row]) -> None:
        """Make the table that remembers epochs, if it is not there."""
        cursor.execute("select to_regclass(%s)", [self._sql("{epochs}").as_string(cursor)])
        if cursor.fetchall() != [(None,)]:
            return
        # Of two that make it at once, one would fail.
        cursor.execute("select pg_advisory_xact_lock(hashtext('penstock epochs'))")
        cursor.execute(
            self._sql(
                "create table if not exists {epochs} (lineage text, sink text, epoch bigint not null,"
                " written_at timestamptz not null default now(), primary key (lineage, sink))"
            )
        )

    def _sql(self, statement: LiteralString) -> Composed:
        from psycopg import sql

        def names(columns: Sequence[str]) -> Composed:
            return sql.SQL(", ").join(map(sql.Identifier, columns))

        keys = names(self.conflict_columns)
        updates = sql.SQL(", ").join(
            sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name))
            for name in self.columns
            if name not in self.conflict_columns
        )
        return sql.SQL(statement).format(
            table=sql.Identifier(*self.name.split(".")),
            epochs=sql.Identifier(*self.epochs_table.split(".")),
            stage=sql.Identifier(_STAGE),
            order=sql.Identifier(_ORDER),
            columns=names(self.columns),
            keys=keys,
            key=sql.SQL("({})").format(keys) if self.conflict_columns else sql.SQL(""),
            # Keys with nulls are equal to none.
            single=sql.SQL("case when num_nulls({}) > 0 then {} end").format(
                keys, sql.Identifier(_ORDER)
            ),
            action=sql.SQL("update set {}").format(updates)
            if updates.as_string()
            else sql.SQL("nothing"),
        )


def _failing_row(error: Error, rows: Sequence[Row]) -> str | None:
    """Return the row that PostgreSQL names in an error of a copy."""
    import re

    found = re.search(r"COPY \S+, line (\d+)", error.diag.context or "")
    if found is None or not 1 <= int(found[1]) <= len(rows):
        return None
    return repr(rows[int(found[1]) - 1])
