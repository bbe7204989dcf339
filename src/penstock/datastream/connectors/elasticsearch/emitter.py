"""What becomes of a record: a line that says where it goes, and a document."""

from __future__ import annotations

import base64
import datetime
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.common.types import Row, field_names_of
from penstock.errors import InvalidArgumentError

__all__ = ["ElasticsearchEmitter"]


@dataclass(frozen=True)
class Action:
    """What is to be done with a document.

    Attributes:
        index: The index.
        id: The document's id; None if Elasticsearch is to choose one.
        lines: What is sent.
    """

    index: str
    id: str | None
    lines: bytes


@dataclass(frozen=True)
class ElasticsearchEmitter:
    """Makes a document of each record; made by `static_index` or `dynamic_index`.

    A record is a dict, or a row with names. Dates and times become texts as ISO 8601 has them, decimals
    texts of their digits, and bytes texts in Base64.

    With a key field a document is updated, or inserted if there is none with that id: however often
    a record is sent, there is one document. Without, each time it is sent makes one more.
    """

    index: str
    key_field: str | None = None
    doc_type: str | None = None
    is_dynamic: bool = False

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Return an emitter that writes all documents into one index.

        Args:
            index: The name of the index.
            key_field: The field that has the document's id. Default: Elasticsearch chooses ids.
            doc_type: The type of the documents, which Elasticsearch 6 has. Default: "_doc" there, none
                in later ones, which know no types.

        Raises:
            InvalidArgumentError: If the index has no name.

        Example:
            >>> ElasticsearchEmitter.static_index("orders", "id").key_field
            'id'
        """
        return ElasticsearchEmitter(_name(index), key_field, doc_type)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Return an emitter that writes each document into the index that the document names.

        Args:
            index_field: The field that has the name of the index.
            key_field: See `static_index`.
            doc_type: See `static_index`.

        Raises:
            InvalidArgumentError: If the field has no name.

        Example:
            >>> ElasticsearchEmitter.dynamic_index("shop", "id").index
            'shop'
        """
        return ElasticsearchEmitter(_name(index_field), key_field, doc_type, is_dynamic=True)

    def action(self, record: Any, default_type: str | None) -> Action:
        """Return what is to be done with a record.

        Args:
            record: The record.
            default_type: The type of documents if the emitter names none.

        Raises:
            LookupError: If it has no field for the index or the id.
            TypeError: If it is no dict, or a value has no counterpart in JSON.
            ValueError: If a number has none: infinity, or none at all.
        """
        document = _document(record)
        index = _text_of(document, self.index) if self.is_dynamic else self.index
        target = {"_index": index}
        doc_type = self.doc_type or default_type
        if doc_type is not None:
            target["_type"] = doc_type
        if self.key_field is None:
            return Action(index, None, _lines({"index": target}, document))
        key = _text_of(document, self.key_field)
        target["_id"] = key
        update = {"doc": document, "doc_as_upsert": True}
        return Action(index, key, _lines({"update": target}, update))


def _name(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidArgumentError(f"{name!r} names no index.", hint="Give a text, as 'orders'.")
    return name


def _document(record: Any) -> dict[str, Any]:
    if isinstance(record, Mapping):
        return dict(record)
    if isinstance(record, Row) and field_names_of(record) is not None:
        return record.as_dict(recursive=True)
    raise TypeError("it is neither a dict nor a row with names")


def _text_of(document: Mapping[str, Any], field: str) -> str:
    value = document[field]
    if value is None:
        raise LookupError(f"its field {field!r} is None")
    return str(value)


def _lines(action: Mapping[str, Any], source: Mapping[str, Any]) -> bytes:
    return f"{_json(action)}\n{_json(source)}\n".encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Row):
        return _document(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "tolist"):
        return value.tolist()  # NumPy's
    raise TypeError(f"{value!r} has no counterpart in JSON")
