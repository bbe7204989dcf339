from __future__ import annotations

from typing import IO

from penstock.common.serializer import TypeSerializer


class Padded(TypeSerializer[str]):
    def __init__(self, size: int) -> None:
        self.size = size

    def serialize(self, element: str, stream: IO[bytes]) -> None:
        stream.write(element.ljust(self.size).encode())

    def deserialize(self, stream: IO[bytes]) -> str:
        return stream.read(self.size).decode().rstrip()


class Other(Padded):
    pass


def test_serializers_are_equal_if_class_and_attributes_are() -> None:
    assert Padded(3) == Padded(3)
    assert hash(Padded(3)) == hash(Padded(3))
    assert Padded(3) != Padded(4)
    assert Other(3) != Padded(3)
    assert Padded(3) != 3
    assert repr(Other(3)) == "Other()"
