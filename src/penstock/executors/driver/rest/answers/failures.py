"""A failure as Flink's clients read it: they take it from an object of Java's, written as Java writes objects."""

from __future__ import annotations

import base64
import struct
from typing import Final

_STREAM: Final = b"\xac\xed\x00\x05"
_OBJECT, _CLASS, _STRING, _LONG_STRING, _NULL, _END = b"s", b"r", b"t", b"|", b"p", b"x"
_PLAIN, _WRITES_ITSELF = b"\x02", b"\x03"
_TEXT, _BYTES = "Ljava/lang/String;", "[B"
_LONGEST_SHORT: Final = 0xFFFF


def failure_cause(name: str, text: str) -> dict[str, str]:
    """Return a failure.

    Args:
        name: The class of the exception.
        text: What it says, with the traceback if there is one.
    """
    written = base64.b64encode(_throwable(name, text)).decode()
    return {"class": name, "stack-trace": text, "serialized-throwable": written}


def _throwable(name: str, text: str) -> bytes:
    """Return Flink's `SerializedThrowable`, without a class of the cause that the reader would need."""
    throwable = _described(
        "java.lang.Throwable",
        "d5c635273977b8cb",
        _WRITES_ITSELF,
        {
            "cause": "Ljava/lang/Throwable;",
            "detailMessage": _TEXT,
            "stackTrace": "[Ljava/lang/StackTraceElement;",
            "suppressedExceptions": "Ljava/util/List;",
        },
        _NULL,
    )
    exception = _described("java.lang.Exception", "d0fd1f3e1a3b1cc4", _PLAIN, {}, throwable)
    serialized = _described(
        "org.apache.flink.util.SerializedThrowable",
        "65169df51fa713f3",
        _PLAIN,
        {
            "fullStringifiedStackTrace": _TEXT,
            "originalErrorClassName": _TEXT,
            "serializedException": _BYTES,
        },
        exception,
    )
    of_throwable = _NULL + _string(text) + _NULL + _NULL + _END
    return _STREAM + _OBJECT + serialized + of_throwable + _string(text) + _string(name) + _NULL


def _described(name: str, version: str, flags: bytes, fields: dict[str, str], base: bytes) -> bytes:
    """Return the description of a class, with those of its fields and of its base class."""
    found = _CLASS + _short(name) + bytes.fromhex(version) + flags + struct.pack(">H", len(fields))
    for field, kind in fields.items():
        found += kind[0].encode() + _short(field) + _STRING + _short(kind)
    return found + _END + base


def _short(text: str) -> bytes:
    content = _modified_utf_8(text)
    return struct.pack(">H", len(content)) + content


def _string(text: str) -> bytes:
    content = _modified_utf_8(text)
    if len(content) <= _LONGEST_SHORT:
        return _STRING + struct.pack(">H", len(content)) + content
    return _LONG_STRING + struct.pack(">Q", len(content)) + content


def _modified_utf_8(text: str) -> bytes:
    """Return a text as Java writes it: units of UTF-16 one by one, and zero in two bytes."""
    wide = text.encode("utf-16-be", "surrogatepass")
    units = (chr(unit) for (unit,) in struct.iter_unpack(">H", wide))
    return "".join(units).encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
