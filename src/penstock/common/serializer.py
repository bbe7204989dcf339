"""What writes values of a type to bytes, and reads them back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import IO, Generic, TypeVar

__all__ = ["TypeSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes values of a type to a stream of bytes, and reads them back.

    Serializers are equal if they are of one class and have equal attributes.

    Example:
        >>> import io, struct
        >>> class Numbers(TypeSerializer[int]):
        ...     def serialize(self, element, stream):
        ...         stream.write(struct.pack(">q", element))
        ...
        ...     def deserialize(self, stream):
        ...         return struct.unpack(">q", stream.read(8))[0]
        >>> stream = io.BytesIO()
        >>> Numbers().serialize(7, stream)
        >>> Numbers().deserialize(io.BytesIO(stream.getvalue()))
        7
        >>> Numbers() == Numbers()
        True
    """

    @abstractmethod
    def serialize(self, element: T, stream: IO[bytes]) -> None:
        """Write a value.

        Args:
            element: The value.
            stream: Where to write it.
        """

    @abstractmethod
    def deserialize(self, stream: IO[bytes]) -> T:
        """Read the next value.

        Args:
            stream: Where to read it.

        Returns:
            The value.
        """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.__dict__ == other.__dict__

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
