"""What sinks prepared in an epoch, in a form that can be shown."""

from __future__ import annotations

import io
import json
from base64 import b64decode
from typing import Any, Final, NamedTuple

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.inspection.opaque import without_classes
from penstock.runtime.job_pickle import UNPICKLER
from penstock.runtime.user_code import record_text

_STAGED: Final = "penstock.datastream.connectors.kafka.writers", "StagedRecords"


class Prepared(NamedTuple):
    """What a subtask of a sink prepared.

    Attributes:
        sink: The id of the sink's operator.
        kind: The name of its class.
        bytes: How many bytes it takes.
        text: What it is made of, shortened.
    """

    sink: str
    kind: str
    bytes: int
    text: str


def prepared_of(record: EpochRecord, *, import_classes: bool = False) -> list[Prepared]:
    """Return what sinks prepared in an epoch.

    Args:
        record: The epoch.
        import_classes: Whether classes that objects are of are imported, which can run any code that the
            epoch names.
    """
    with without_classes(import_classes=import_classes):
        return [_prepared(sink, plain) for sink, plain in record.prepared]


def _prepared(sink: str, plain: object) -> Prepared:
    if not isinstance(plain, str):
        text = json.dumps(plain)
        return Prepared(sink, type(plain).__name__, len(text), text)
    data = b64decode(plain)
    try:
        found = UNPICKLER.get()(io.BytesIO(data)).load()
    except Exception as error:  # noqa: BLE001 - what is shown may be of any version, and anybody's
        return Prepared(sink, "", len(data), f"cannot be shown: {type(error).__name__}")
    return Prepared(sink, type(found).__qualname__, len(data), _text(found))


def _text(found: Any) -> str:
    """Return what a sink prepared as text: of records for Kafka how many they are, and where."""
    if (type(found).__module__, type(found).__qualname__) == _STAGED and len(found) >= 3:
        name, records, subtask = found[:3]
        return f"{records} records of subtask {subtask}, in {name}"
    return record_text(found)
