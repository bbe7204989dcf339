"""What a reader's schema says that numbers and bytes mean, whatever the schema says with which they were written."""

from __future__ import annotations

import copy
from typing import Any, Final

from penstock.datastream.formats.avro.avro_values import AvroValues

_MEANING: Final = ("logicalType", "precision", "scale")
_INNER: Final = {"array": "items", "map": "values"}


def as_meant(written: Any, read: Any) -> Any:
    """Return the schema of a writer with logical types where the reader has some, and without where it has none.

    Avro resolves what is written; what it means, the reader says. Where both have a logical type, that of the
    writer stays: it tells the scale of a decimal, and the unit of a timestamp.

    Args:
        written: The schema of the writer, as fastavro has it.
        read: That of the reader.

    Example:
        >>> as_meant({"type": "long"}, {"type": "long", "logicalType": "timestamp-millis"})
        {'type': 'long', 'logicalType': 'timestamp-millis'}
    """
    copied = copy.deepcopy(written)
    return _Meaning(AvroValues(copied), AvroValues(read)).of(copied, read)


class _Meaning:
    def __init__(self, writer: AvroValues, reader: AvroValues) -> None:
        self._writer = writer
        self._reader = reader
        self._seen: set[str] = set()

    def of(self, written: Any, read: Any) -> Any:
        """Return a type of the writer's as the reader's means it; records are changed where they are."""
        if isinstance(written, list):
            return [self.of(branch, read) for branch in written]
        kind, definition = self._writer.resolved(written)
        meant = self._meant(kind, definition, read)
        if meant is None:
            return written
        if kind == "record":
            self._record(definition, meant)
        elif kind in _INNER:
            inner = _INNER[kind]
            definition[inner] = self.of(definition[inner], meant[inner])
        elif ("logicalType" in definition) != ("logicalType" in meant):
            meaning: dict[str, Any] = {name: meant[name] for name in _MEANING if name in meant}
            if kind != "fixed":
                return {"type": kind, **meaning}
            for name in _MEANING:
                definition.pop(name, None)
            definition.update(meaning)
        return written

    def _meant(self, kind: str, definition: dict[str, Any], read: Any) -> dict[str, Any] | None:
        """Return what the reader has for a type of the writer's; None if it is not known."""
        for branch in read if isinstance(read, list) else [read]:
            found, meant = self._reader.resolved(branch)
            if found == kind and (kind != "record" or _name(meant) == _name(definition)):
                return meant
        return None

    def _record(self, definition: dict[str, Any], meant: dict[str, Any]) -> None:
        if definition["name"] in self._seen:
            return
        self._seen.add(definition["name"])
        fields = {
            name: field
            for field in meant["fields"]
            for name in (*field.get("aliases", ()), field["name"])
        }
        for field in definition["fields"]:
            if field["name"] in fields:
                field["type"] = self.of(field["type"], fields[field["name"]]["type"])


def _name(definition: dict[str, Any]) -> str:
    """Return the name of a record without its namespace, of which Avro takes no notice here."""
    return str(definition["name"]).rpartition(".")[2]
