"""Windows as bytes."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any, Final, TypeVar

from penstock.common.serializer import TypeSerializer
from penstock.errors import InvalidWindowError
from penstock.runtime.keys.window_values import CountWindow, GlobalWindow, TimeWindow, Window

W = TypeVar("W", bound=Window)

_TWO_INTEGERS: Final = struct.Struct(">qq")
_ONE_INTEGER: Final = struct.Struct(">q")


class PickledWindowSerializer(TypeSerializer[W]):
    """Pickles windows of any class."""

    def serialize(self, element: W, stream: IO[bytes]) -> None:
        """See `TypeSerializer.serialize`."""
        pickle.dump(element, stream, pickle.HIGHEST_PROTOCOL)

    def deserialize(self, stream: IO[bytes]) -> W:
        """See `TypeSerializer.deserialize`."""
        return pickle.load(stream)  # type: ignore[no-any-return]


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Writes a time window as its start and its end, eight bytes each.

    Example:
        >>> import io
        >>> stream = io.BytesIO()
        >>> TimeWindowSerializer().serialize(TimeWindow(0, 10), stream)
        >>> stream.seek(0)
        0
        >>> TimeWindowSerializer().deserialize(stream)
        TimeWindow(start=0, end=10)
    """

    def serialize(self, element: TimeWindow, stream: IO[bytes]) -> None:
        """See `TypeSerializer.serialize`."""
        stream.write(_TWO_INTEGERS.pack(*element))

    def deserialize(self, stream: IO[bytes]) -> TimeWindow:
        """See `TypeSerializer.deserialize`."""
        return TimeWindow(*_TWO_INTEGERS.unpack(stream.read(_TWO_INTEGERS.size)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Writes a count window as its number, in eight bytes."""

    def serialize(self, element: CountWindow, stream: IO[bytes]) -> None:
        """See `TypeSerializer.serialize`."""
        stream.write(_ONE_INTEGER.pack(element.id))

    def deserialize(self, stream: IO[bytes]) -> CountWindow:
        """See `TypeSerializer.deserialize`."""
        return CountWindow(*_ONE_INTEGER.unpack(stream.read(_ONE_INTEGER.size)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Writes the global window, of which there is only one, as a byte that says nothing."""

    def serialize(self, element: GlobalWindow, stream: IO[bytes]) -> None:
        """See `TypeSerializer.serialize`."""
        stream.write(b"\0")

    def deserialize(self, stream: IO[bytes]) -> GlobalWindow:
        """See `TypeSerializer.deserialize`."""
        stream.read(1)
        return GlobalWindow.get()


_AS_THEY_ARE: Final = (
    *(TimeWindowSerializer, CountWindowSerializer, GlobalWindowSerializer),
    PickledWindowSerializer,
)


def own_serializer(serializer: Any) -> TypeSerializer[Any] | None:
    """Return a serializer of the user's; None for one of these here, whose windows are kept as they are.

    Raises:
        InvalidWindowError: If it is no serializer.
    """
    if type(serializer) in _AS_THEY_ARE:
        return None
    if not isinstance(serializer, TypeSerializer):
        raise InvalidWindowError(
            f"get_window_serializer() of an assigner returned {serializer!r}, which is no TypeSerializer.",
            hint="Return an object of a class derived from penstock.common.serializer.TypeSerializer, or leave the "
            "method out.",
        )
    return serializer
