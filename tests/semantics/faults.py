"""Functions with which something goes wrong once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from penstock.datastream import MapFunction
from penstock.errors import LostBufferError
from penstock.runtime.exchange.gates import InputGate


def lose_a_buffer() -> None:
    """Let the task that this is called in find, at its end, that it missed a buffer."""
    finish = InputGate.finish

    def missed(self: InputGate) -> NoReturn:
        InputGate.finish = finish  # type: ignore[method-assign]
        raise LostBufferError("A buffer was lost.")

    InputGate.finish = missed  # type: ignore[method-assign]


def kill_the_worker() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Once(MapFunction):
    """Calls a function the first time that a record is for it; marks that it did by a file."""

    def __init__(
        self, happens: Callable[[], None], marker: Path, is_for: Callable[[Any], bool]
    ) -> None:
        self._happens = happens
        self._marker = marker
        self._is_for = is_for

    def map(self, value: Any) -> Any:
        if self._is_for(value) and not self._marker.exists():
            self._marker.touch()
            self._happens()
        return value
