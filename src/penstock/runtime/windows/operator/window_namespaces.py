"""What stands for windows in state and timers."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

from penstock.errors import InvalidWindowError
from penstock.runtime.user_code import record_text
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.serializers import own_serializer


def _itself(window: Any) -> Any:
    return window


class WindowNamespaces:
    """Says what stands for a window in state and timers: the window, or what the user's serializer makes of it.

    So what makes windows one there is what the serializer writes, whatever else their class has.

    Args:
        assigner: The assigner, which says what writes its windows.
        name: The name of the operator, for messages.

    Attributes:
        of: Returns what stands for a window.
        window_of: Returns the window that something stands for.
    """

    def __init__(self, assigner: WindowAssigner[Any, Any], name: str) -> None:
        self._assigner, self._name = assigner, name
        self._serializer: Final = own_serializer(assigner.get_window_serializer())
        self._is_checked = False
        self.of: Callable[[Any], Any] = _itself
        self.window_of: Callable[[Any], Any] = _itself
        if self._serializer is not None:
            self.of, self.window_of = self._written, self._read

    def _written(self, window: Any) -> bytes:
        assert self._serializer is not None
        stream = io.BytesIO()
        self._serializer.serialize(window, stream)
        data = stream.getvalue()
        if not self._is_checked:
            self._check(window, data)
        return data

    def _read(self, data: bytes) -> Any:
        assert self._serializer is not None
        return self._serializer.deserialize(io.BytesIO(data))

    def _check(self, window: Any, data: bytes) -> None:
        """Look whether the first window comes back."""
        self._is_checked = True
        found = self._read(data)
        if not (found == window and hash(found) == hash(window) and self._written(found) == data):
            raise InvalidWindowError(
                f"{self._serializer!r}, the window serializer of operator {self._name!r}, wrote the window "
                f"{record_text(window)} and read {record_text(found)}, which is not equal, has another hash, or is "
                "written otherwise.",
                hint=f"Write in serialize() all that makes windows of {type(self._assigner).__name__} equal, and "
                "give their class an __eq__ and a __hash__ that look at no more.",
            )
