"""The two sinks of the crash test, and what they have when it is over."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tests.crash.program import NAMES, Result

from penstock.common.serialization import Encoder
from penstock.datastream.connectors.base import Sink
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.policies import BucketAssigner, RollingPolicy
from penstock.datastream.connectors.postgres import PostgresSink

MORE_FILES = "-more"
"""What the name of the folder of `more_files` has at its end."""


class AsObject(Encoder):
    """Writes a result as an object on a line."""

    def __init__(self) -> None:
        self._encoder = Encoder.json_lines()

    def encode(self, value: Result) -> bytes:
        return self._encoder.encode(value._asdict())


class ByKind(BucketAssigner):
    """Gives each kind of results a folder."""

    def get_bucket_id(self, element: Result, context: Any) -> str:
        return f"kind={element.kind}"


def more_files(options: argparse.Namespace) -> Sink:
    """Return the sink that not every version of the program has; it keeps no file open."""
    return (
        FileSink.for_row_format(options.output + MORE_FILES, AsObject())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .build()
    )


def sinks_of(options: argparse.Namespace) -> dict[str, Sink]:
    """Return the sinks: files that are complete with each epoch or when they are large, and a table."""
    policy = (
        RollingPolicy.on_checkpoint_rolling_policy()
        if options.rolling == "epoch"
        else RollingPolicy.default_rolling_policy(part_size=4_096)
    )
    files = (
        FileSink.for_row_format(options.output, AsObject())
        .with_bucket_assigner(ByKind())
        .with_rolling_policy(policy)
        .build()
    )
    found: dict[str, Sink] = {"files": files}
    if options.postgres:
        found["table"] = PostgresSink(options.postgres, options.table, columns=NAMES)
    return found


def create_table(postgres: str, table: str) -> None:
    import psycopg

    columns = "kind text, key text, record bigint, number bigint, total bigint, stamp text"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"create table {table} ({columns})")


def contents(options: argparse.Namespace) -> dict[str, list[Result]]:
    """Return what each sink has: all that is visible, as often as it is."""
    found = {"files": lines_below(Path(options.output))}
    if options.postgres:
        import psycopg

        with psycopg.connect(options.postgres) as connection:
            rows = connection.execute(f"select {', '.join(NAMES)} from {options.table}").fetchall()
        found["table"] = [Result(*row) for row in rows]
    return found


def lines_below(output: Path) -> list[Result]:
    """Return the results in the files of a folder that are visible."""
    paths = [path for path in output.rglob("*") if path.is_file()]
    visible = [path for path in paths if ".penstock" not in path.relative_to(output).parts]
    lines = [line for path in visible for line in path.read_text().splitlines()]
    return [Result(**json.loads(line)) for line in lines]
