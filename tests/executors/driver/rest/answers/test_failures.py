"""A failure is an object that Java can read: its command line has shown one; here is what it is made of."""

from __future__ import annotations

import base64
import struct

import pytest

from penstock.executors.driver.rest.answers.failures import failure_cause


def written(name: str, text: str) -> bytes:
    return base64.b64decode(failure_cause(name, text)["serialized-throwable"], validate=True)


def test_a_failure_says_what_it_was() -> None:
    found = failure_cause("SavepointError", "The place is not empty.")
    assert (found["class"], found["stack-trace"]) == (
        "SavepointError",
        "The place is not empty.",
    )
    content = written("SavepointError", "The place is not empty.")
    assert content.startswith(b"\xac\xed\x00\x05sr\x00)org.apache.flink.util.SerializedThrowable")
    text = b"t\x00\x17The place is not empty."
    assert content.endswith(b"p" + text + b"ppx" + text + b"t\x00\x0eSavepointErrorp")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("a\0b", b"a\xc0\x80b"),
        ("é", "é".encode()),
        ("\N{GRINNING FACE}", b"\xed\xa0\xbd\xed\xb8\x80"),
        ("\ud800", b"\xed\xa0\x80"),
    ],
)
def test_texts_are_written_as_java_writes_them(text: str, content: bytes) -> None:
    assert b"t" + struct.pack(">H", len(content)) + content in written("Error", text)


def test_a_long_text_is_whole() -> None:
    text = 70_000 * "x"
    assert b"|" + struct.pack(">Q", 70_000) + text.encode() in written("Error", text)
