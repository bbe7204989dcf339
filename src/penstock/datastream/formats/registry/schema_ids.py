"""Where a message says which schema it has: before its bytes, or in a header."""

from __future__ import annotations

import uuid
from typing import Final, NamedTuple

from penstock.common.plain_text import shown_bytes
from penstock.common.serialization.schema import Headers
from penstock.errors import InvalidArgumentError, NoSchemaIdError

Place = bytes | tuple[str, bytes]
"""The bytes before a message, or the header, that name a schema: the same for all messages that have it."""

_MAGIC: Final = b"\0"
_GUID_MAGIC: Final = b"\1"
_GUID_END: Final = 17
APICURIO_IDS: Final = ("contentId", "globalId")


class SchemaId(NamedTuple):
    """What a registry is asked by.

    Attributes:
        kind: "id" before a message; "guid" in a header of Confluent's, "contentId" or "globalId" in one of Apicurio's.
        value: The number, or of a guid the text.
    """

    kind: str
    value: int | str

    def __str__(self) -> str:
        return f"the {self.kind} {self.value}"


class SchemaIds:
    """Finds the id of a message's schema, and puts one before a message: a zero byte, then the id.

    Headers come first, as in Confluent's and Apicurio's own deserializers.

    Args:
        id_bytes: How many bytes the id has before a message, the highest first.
        is_key: Whether messages are keys of Kafka's records, whose ids have headers of their own.

    Raises:
        InvalidArgumentError: If an id has neither 4 bytes nor 8.
    """

    def __init__(self, id_bytes: int, *, is_key: bool = False) -> None:
        if id_bytes not in {4, 8}:
            raise InvalidArgumentError(
                f"The id of a schema has 4 bytes or 8, not {id_bytes!r}.",
                hint="Confluent's has 4, as Apicurio's from version 3; before that, Apicurio's had 8.",
            )
        self.id_bytes = id_bytes
        self.length = 1 + id_bytes
        part = "key" if is_key else "value"
        self._guid_header = f"__{part}_schema_id"
        self._headers = {f"apicurio.{part}.{name}": name for name in APICURIO_IDS}
        self._names = frozenset({self._guid_header, *self._headers})
        self._encoding = f"apicurio.{part}.encoding"

    def before(self, schema_id: int) -> bytes:
        """Return what stands before a message."""
        return _MAGIC + schema_id.to_bytes(self.id_bytes, "big")

    def header(self, headers: Headers) -> tuple[str, bytes] | None:
        """Return the header that names the schema; of several the last."""
        found = None
        for name, value in headers:
            if name in self._names and value is not None:
                found = name, value
        return found

    def place(self, message: bytes, headers: Headers = ()) -> tuple[Place, int]:
        """Return what names the schema, and where the record begins."""
        found = self.header(headers) if headers else None
        return (message[: self.length], self.length) if found is None else (found, 0)

    def start(self, message: bytes, headers: Headers) -> int:
        """Return where the record begins.

        Raises:
            NoSchemaIdError: If neither the message nor a header names a schema.
        """
        if not headers and message[:1] == _MAGIC and len(message) >= self.length:
            return self.length
        place, start = self.place(message, headers)
        if not start or len(place) < self.length or place[:1] != _MAGIC:
            self.named(place)
        return start

    def is_json(self, headers: Headers) -> bool:
        """Whether headers say that a record of Avro is written as JSON."""
        return (self._encoding, b"JSON") in headers

    def named(self, place: Place) -> SchemaId:
        """Return the id that stands in a place.

        Raises:
            NoSchemaIdError: If none does.
        """
        if isinstance(place, bytes):
            if len(place) < self.length or place[:1] != _MAGIC:
                raise NoSchemaIdError(
                    f"A message that begins with {place!r} does not begin with the id of a schema: a zero byte, and "
                    f"{self.id_bytes} bytes more.",
                    hint="Read it with a schema without registry, if it was written so. With id_bytes=8 ids of "
                    "8 bytes are read. Ids in headers are found where a KafkaSource or DeserializeFunction calls the "
                    "schema, or deserialize_with_headers is called.",
                )
            return SchemaId("id", int.from_bytes(place[1:], "big"))
        name, value = place
        if name != self._guid_header:
            if len(value) == 8:
                return SchemaId(self._headers[name], int.from_bytes(value, "big"))
        elif value[:1] == _GUID_MAGIC and len(value) >= _GUID_END:
            return SchemaId("guid", str(uuid.UUID(bytes=value[1:_GUID_END])))
        elif value[:1] == _MAGIC and len(value) >= 5:
            return SchemaId("id", int.from_bytes(value[1:5], "big"))
        raise NoSchemaIdError(
            f"The header {name!r} has {shown_bytes(value)}, which is no id of a schema.",
            hint="Let the message go to dead letters, and ask whoever wrote it.",
        )

    def behind_id(self, place: tuple[str, bytes]) -> bytes | None:
        """Return what follows the id in a header: the place of a message of Protobuf; None of Apicurio's."""
        name, value = place
        if name != self._guid_header:
            return None
        return value[_GUID_END if value[:1] == _GUID_MAGIC else 5 :]
