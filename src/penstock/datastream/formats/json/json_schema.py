"""The type of what a JSON Schema describes, as Flink has it."""

from __future__ import annotations

import json
from typing import Any, Final

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.common.typeinfo.types import Types
from penstock.errors import InvalidArgumentError

_FORMATS: Final = {
    "date-time": Types.SQL_TIMESTAMP(),
    "date": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
}
_SCALARS: Final = {
    "boolean": Types.BOOLEAN(),
    "number": Types.BIG_DEC(),
    "integer": Types.BIG_DEC(),
}


def type_of_json_schema(json_schema: str) -> TypeInformation:
    """Return the type of what a JSON Schema describes.

    Args:
        json_schema: The schema as JSON.

    Raises:
        InvalidArgumentError: If it is none, or describes what no type has.
    """
    try:
        root = json.loads(json_schema)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{json_schema!r} is no JSON Schema: {error}", hint="Give a JSON Schema as a string."
        ) from error
    return _type_of(root, root, "the schema")


def _type_of(node: Any, root: Any, where: str) -> TypeInformation:
    if not isinstance(node, dict):
        raise _refused(where, "is no JSON object")
    if "$ref" in node:
        return _type_of(_referred(node["$ref"], root, where), root, where)
    if "oneOf" in node:
        return _only([_of_one(one, root, where) for one in node["oneOf"]], where)
    if any(union in node for union in ("allOf", "anyOf", "not", "extends", "disallow")):
        raise _refused(where, "is a union, or extends another type")
    kinds = node.get("type")
    if kinds is None:
        raise _refused(where, "has no type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return _only([_of_kind(kind, node, root, where) for kind in kinds], where)


def _of_one(node: Any, root: Any, where: str) -> TypeInformation | None:
    is_null = isinstance(node, dict) and node.get("type") == "null"
    return None if is_null else _type_of(node, root, where)


def _only(kinds: list[TypeInformation | None], where: str) -> TypeInformation:
    found = [kind for kind in kinds if kind is not None]
    if len(found) != 1:
        raise _refused(where, "has several types, or none but null")
    return found[0]


def _of_kind(kind: Any, node: dict[str, Any], root: Any, where: str) -> TypeInformation | None:
    if kind == "null":
        return None
    if kind == "object":
        fields = node.get("properties", {})
        types = [_type_of(field, root, f"{where}, {name!r}") for name, field in fields.items()]
        return Types.ROW_NAMED(list(fields), types)
    if kind == "array":
        return _of_array(node.get("items"), root, where)
    if kind == "string":
        return _of_string(node, where)
    if kind not in _SCALARS:
        raise _refused(where, f"has the type {kind!r}")
    return _SCALARS[kind]


def _of_array(items: Any, root: Any, where: str) -> TypeInformation:
    if isinstance(items, list):
        return Types.ROW([_type_of(item, root, f"{where}, an item") for item in items])
    if items is None:
        raise _refused(where, "is an array that does not say of what")
    return Types.OBJECT_ARRAY(_type_of(items, root, f"{where}, an item"))


def _of_string(node: dict[str, Any], where: str) -> TypeInformation:
    encoding = node.get("contentEncoding")
    if encoding is None:
        return _FORMATS.get(node.get("format", ""), Types.STRING())
    if encoding != "base64":
        raise _refused(where, f"has the encoding {encoding!r}")
    return Types.PRIMITIVE_ARRAY(Types.BYTE())


def _referred(reference: Any, root: Any, where: str) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        raise _refused(where, f"refers to {reference!r}, which is not in the schema")
    found = root
    for name in reference.removeprefix("#/").split("/"):
        if not isinstance(found, dict) or name not in found:
            raise _refused(where, f"refers to {reference!r}, which is not in the schema")
        found = found[name]
    if isinstance(found, dict) and "$ref" in found:
        raise _refused(where, f"refers to {reference!r}, which refers to something else")
    return found


def _refused(where: str, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"In a JSON Schema, {where} {what}.",
        hint="Give the type of the rows itself: type_info(Types.ROW_NAMED(...)).",
    )
