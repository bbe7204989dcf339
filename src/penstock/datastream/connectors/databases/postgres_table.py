"""A table of PostgreSQL that a sink writes to: its statements, and what its errors mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, LiteralString

from penstock.common.rows.row_values import row_values
from penstock.datastream.connectors.databases.client import Cursor, Row
from penstock.datastream.connectors.databases.epochs_table import EpochsTable
from penstock.datastream.connectors.databases.psycopg_client import PsycopgClient
from penstock.datastream.connectors.databases.target import DatabaseTarget
from penstock.errors import PenstockError, SinkNotWritableError, SinkRowError, SinkTableError

if TYPE_CHECKING:
    from psycopg.sql import Composed

Conflict = Literal["error", "nothing", "update"]

_STAGE = "penstock_stage"
_ORDER = "penstock_order"


@dataclass(frozen=True)
class PostgresTable(DatabaseTarget):
    """A table that a sink writes to; see `PostgresSink`."""

    conninfo: str
    name: str
    columns: tuple[str, ...]
    on_conflict: Conflict
    conflict_columns: tuple[str, ...]
    epochs_table: str
    _: KW_ONLY
    check_rows: bool = True

    @property
    def client(self) -> PsycopgClient:
        return PsycopgClient(self.conninfo)

    @property
    def what(self) -> str:
        return f"the table {self.name!r}"

    @property
    def epochs(self) -> EpochsTable:
        parts = self.epochs_table.replace('"', '""').split(".")
        return EpochsTable(self.client, ".".join(f'"{part}"' for part in parts))

    @property
    def tries_rows(self) -> bool:
        return self.check_rows

    def row(self, value: Any) -> Row:
        return row_values(value, self.columns)

    def described(self, error: Exception, rows: Sequence[Row]) -> PenstockError:
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

    def check(self, cursor: Cursor) -> None:
        """Make sure that the table and its columns are there."""
        cursor.execute(self._sql("select {columns} from {table} limit 0"))

    def create_trial(self, cursor: Cursor) -> None:
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

    def try_rows(self, cursor: Cursor, rows: Sequence[Row]) -> None:
        self._copy(cursor, rows, staged=True)

    def write(self, cursor: Cursor, parts: Iterator[Sequence[Row]]) -> None:
        is_plain = self.on_conflict == "error"
        if not is_plain:
            self._create_stage(cursor)
        for rows in parts:
            self._copy(cursor, rows, staged=not is_plain)
        if not is_plain:
            self._insert_staged(cursor)

    def _copy(self, cursor: Cursor, rows: Sequence[Row], *, staged: bool) -> None:
        """Write rows, into the temporary table or into the table itself."""
        target: LiteralString = "{stage}" if staged else "{table}"
        statement = self._sql("copy " + target + " ({columns}) from stdin")
        with self.errors(rows), cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    def _create_stage(self, cursor: Cursor) -> None:
        """Make a temporary table, for this transaction, that keeps the order of its rows."""
        cursor.execute(
            self._sql(
                "create temporary table {stage} on commit drop as"
                " select {columns} from {table} with no data"
            )
        )
        cursor.execute(self._sql("alter table {stage} add column {order} bigserial"))

    def _insert_staged(self, cursor: Cursor) -> None:
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


def _failing_row(error: Any, rows: Sequence[Row]) -> str | None:
    """Return the row that PostgreSQL names in an error of a copy."""
    import re

    found = re.search(r"COPY \S+, line (\d+)", error.diag.context or "")
    if found is None or not 1 <= int(found[1]) <= len(rows):
        return None
    return repr(rows[int(found[1]) - 1])
