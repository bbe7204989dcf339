"""Those who watch jobs: how these ended has to be told to them before the server is closed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

_SECONDS: Final = 2.5
"""The page asks every second."""


class Audience:
    """Knows whether somebody watches jobs, and cannot know yet how they ended.

    Args:
        clock: Returns seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked = -math.inf

    def asked(self) -> None:
        """Note that somebody asks for jobs of which one has not ended."""
        self._asked = self._clock()

    @property
    def is_waiting(self) -> bool:
        """Whether somebody who asked while a job ran has had no time to ask again."""
        return self._clock() - self._asked < _SECONDS
