"""Windows as bytes, for those who want them so; state and timers have their own ways."""

from __future__ import annotations

import pickle
import struct
from abc import ABC, abstractmethod
from typing import IO, Final, Generic, TypeVar

from penstock.runtime.keys.window_values import CountWindow, GlobalWindow, TimeWindow, Window

W = TypeVar("W", bound=Window)

_TWO_INTEGERS: Final = struct.Struct(">qq")
_ONE_INTEGER: Final = struct.Struct(">q")


class WindowSerializer(ABC, Generic[W]):
    """Writes windows to a stream of bytes, and reads them back."""

    @abstractmethod
    def serialize(self, element: W, stream: IO[bytes]) -> None:
        """Write a window.

        Args:
            element: The window.
            stream: Where to write it.
        """

    @abstractmethod
    def deserialize(self, stream: IO[bytes]) -> W:
        """Read the next window.

        Args:
            stream: Where to read it.

        Returns:
            The window.
        """


class PickledWindowSerializer(WindowSerializer[W]):
    """Pickles windows of any class."""

    def serialize(self, element: W, stream: IO[bytes]) -> None:
        """See `WindowSerializer.serialize`."""
        pickle.dump(element, stream, pickle.HIGHEST_PROTOCOL)

    def deserialize(self, stream: IO[bytes]) -> W:
        """See `WindowSerializer.deserialize`."""
        return pickle.load(stream)  # type: ignore[no-any-return]


class TimeWindowSerializer(WindowSerializer[TimeWindow]):
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
        """See `WindowSerializer.serialize`."""
        stream.write(_TWO_INTEGERS.pack(*element))

    def deserialize(self, stream: IO[bytes]) -> TimeWindow:
        """See `WindowSerializer.deserialize`."""
        return TimeWindow(*_TWO_INTEGERS.unpack(stream.read(_TWO_INTEGERS.size)))


class CountWindowSerializer(WindowSerializer[CountWindow]):
    """Writes a count window as its number, in eight bytes."""

    def serialize(self, element: CountWindow, stream: IO[bytes]) -> None:
        """See `WindowSerializer.serialize`."""
        stream.write(_ONE_INTEGER.pack(element.id))

    def deserialize(self, stream: IO[bytes]) -> CountWindow:
        """See `WindowSerializer.deserialize`."""
        return CountWindow(*_ONE_INTEGER.unpack(stream.read(_ONE_INTEGER.size)))


class GlobalWindowSerializer(WindowSerializer[GlobalWindow]):
    """Writes the global window, of which there is only one, as a byte that says nothing."""

    def serialize(self, element: GlobalWindow, stream: IO[bytes]) -> None:
        """See `WindowSerializer.serialize`."""
        stream.write(b"\0")

    def deserialize(self, stream: IO[bytes]) -> GlobalWindow:
        """See `WindowSerializer.deserialize`."""
        stream.read(1)
        return GlobalWindow.get()
