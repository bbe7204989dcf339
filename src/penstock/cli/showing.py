"""`penstock checkpoint show`."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.storage import open_storage
from penstock.cli.layout import moment, watermark, write, write_table
from penstock.common.plain_text import Size
from penstock.errors import UnknownOperatorError, UnknownStateError
from penstock.inspection.checkpoint import Checkpoint
from penstock.inspection.epochs import file_sizes, read_record
from penstock.inspection.positions import positions_of
from penstock.inspection.prepared import prepared_of

_TYPE_INFO: Final = re.compile(r"\b(\w+)TypeInfo\b")
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def show(options: argparse.Namespace) -> int:
    """Show what an epoch holds, or a state or the timers of one operator.

    Raises:
        CheckpointNotFoundError: If there is no such checkpoint.
        DamagedStateError: If a file is missing or damaged.
        UnknownOperatorError: If there is no such operator, or several.
        UnknownStateError: If it has no such state.
    """
    storage = open_storage(options.location)
    record = read_record(storage, options.epoch)
    checkpoint = Checkpoint(
        storage.location,
        record,
        import_classes=options.import_classes,
        class_names=options.class_names,
    )
    if options.operator is None and options.state is None:
        described = _described(checkpoint, record, import_classes=options.import_classes)
        if options.json:
            _write_json(described)
        else:
            _write_summary(described, record)
        return 0
    operator = options.operator or _operator_with(checkpoint, options.state)
    if options.state is None:
        table = checkpoint.timers(operator, limit=options.limit)
    else:
        table = checkpoint.state(operator, options.state, limit=options.limit)
    if options.json:
        _write_json(table.to_pylist())
    elif table.num_rows:
        _write_rows(table)
    else:
        write(_nothing(checkpoint, operator, options.state))
    return 0


def _operator_with(checkpoint: Checkpoint, state: str) -> str:
    """Return the id of the only operator with a state of that name.

    Raises:
        UnknownStateError: If no operator has one.
        UnknownOperatorError: If several have.
    """
    operators = checkpoint.operators().to_pylist()
    found = [
        operator
        for operator in operators
        if state in [known["name"] for known in operator["states"]]
    ]
    if not found:
        known = sorted({known["name"] for operator in operators for known in operator["states"]})
        raise UnknownStateError(
            f"No operator has a state {state!r} in epoch {checkpoint.epoch}.",
            hint=f"There are {', '.join(map(repr, known)) or 'none'}.",
        )
    if len(found) > 1:
        names = ", ".join(repr(operator["uid"] or operator["operator_id"]) for operator in found)
        raise UnknownOperatorError(
            f"Several operators have a state {state!r} in epoch {checkpoint.epoch}.",
            hint=f"Say which one with --operator: {names}.",
        )
    return str(found[0]["operator_id"])


def _nothing(checkpoint: Checkpoint, operator: str, state: str | None) -> str:
    """Return what is said where there is no row to show."""
    if state is not None:
        return f"The state {state!r} holds nothing in epoch {checkpoint.epoch}."
    (summary,) = (
        one
        for one in checkpoint.operators().to_pylist()
        if one["operator_id"] == checkpoint.operator_id(operator)
    )
    names = ", ".join(repr(known["name"]) for known in summary["states"])
    states = (
        f"has the states {names}: name one with --state" if names else "has no keyed state either"
    )
    return f"The operator {operator!r} has no timers in epoch {checkpoint.epoch}; it {states}."


def _described(
    checkpoint: Checkpoint, record: EpochRecord, *, import_classes: bool
) -> dict[str, Any]:
    """Return all that is known of an epoch, as plain data."""
    operators = checkpoint.operators().to_pylist()
    names = {operator["operator_id"]: operator["name"] for operator in operators}
    targets = {
        operator.operator_id: operator.delivers_to
        for vertex in record.job.vertices
        for operator in vertex.operators
    }
    files = file_sizes(record)
    return {
        "job": record.job.name,
        "epoch": record.number,
        "generation": record.generation,
        "committed_at": record.committed_at,
        "duration": record.duration,
        "is_last": record.is_last,
        "is_drained": record.is_drained,
        "state_backend": record.job.state_backend,
        "files": len(files),
        "bytes": sum(files.values()),
        "operators": [
            {**operator, **_counts(record.operators.get(operator["operator_id"], {}))}
            for operator in operators
        ],
        "sources": [
            {"name": names.get(source, source), "finished": number in record.finished}
            for number, source in enumerate(record.job.sources)
        ],
        "offsets": [
            {**one._asdict(), "source": names.get(one.source, one.source)}
            for one in positions_of(record)
        ],
        "prepared": [
            {
                **one._asdict(),
                "sink": names.get(one.sink, one.sink),
                "delivers_to": targets.get(one.sink) or None,
            }
            for one in prepared_of(record, import_classes=import_classes)
        ],
    }


def _counts(report: dict[str, Any]) -> dict[str, Any]:
    counts = ("records_in", "records_out", "input_watermark", "output_watermark")
    return {name: report.get(name) for name in counts}


def _write_summary(described: dict[str, Any], record: EpochRecord) -> None:
    write(f"job      {described['job']}")
    write(
        f"epoch    {record.number}, committed {moment(record.committed_at)} UTC by driver "
        f"{record.generation}, in {record.duration} ms{', event time ended' if record.is_drained else ''}"
    )
    size = Size(described["bytes"])
    write(
        f"state    {size} in {described['files']} files, written by the backend {record.job.state_backend}"
    )
    sources = [
        f"{source['name']}{' (finished)' if source['finished'] else ''}"
        for source in described["sources"]
    ]
    write(f"sources  {', '.join(sources)}\n")
    _write_operators(described["operators"])
    _write_more(
        ["source", "partition", "next offset", "end offset"],
        [tuple(one.values()) for one in described["offsets"]],
    )
    _write_more(
        ["sink", "to", "bytes", "prepared"],
        [
            (one["sink"], one["delivers_to"], one["bytes"], one["text"])
            for one in described["prepared"]
        ],
    )


def _write_operators(operators: Sequence[dict[str, Any]]) -> None:
    """Write what each operator did, and then which states it has."""
    write_table(
        ["operator", "uid", "parallelism", "in", "out", "watermark", "timers", "bytes", "id"],
        [
            (
                operator["name"],
                operator["uid"],
                f"{operator['parallelism']} of {operator['max_parallelism']}",
                operator["records_in"],
                operator["records_out"],
                watermark(operator["output_watermark"]),
                operator["timers"],
                operator["bytes"],
                operator["operator_id"],
            )
            for operator in operators
        ],
    )
    _write_more(
        ["operator", "state", "kind", "type", "entries"],
        [
            (operator["name"], *{**state, "type": _type_name(state["type"])}.values())
            for operator in operators
            for state in operator["states"]
        ],
    )


def _write_more(names: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Write a table below others, if it has rows."""
    if rows:
        write()
        write_table(names, rows)


def _type_name(written: str | None) -> str | None:
    """Return the name of a type as `Types` has it: PICKLED_BYTE_ARRAY for PickledByteArrayTypeInfo."""
    if written is None:
        return None
    return _TYPE_INFO.sub(lambda found: _WORD.sub("_", found.group(1)).upper(), written)


def _write_rows(table: pa.Table) -> None:
    rows = table.to_pylist()
    write_table(table.column_names, [list(row.values()) for row in rows])


def _write_json(plain: Any) -> None:
    write(json.dumps(plain, indent=2, ensure_ascii=False, default=_as_text))


def _as_text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
