"""What is worth logging in workers: what the driver's log would show."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_NOTHING: Final = logging.CRITICAL + 1_000


@dataclass(frozen=True)
class LogLevels:
    """From which levels on loggers log.

    Attributes:
        levels: The names of loggers and their levels; the name of the root is empty. All others log from the
            level of the next one above them.
        disabled: The level up to which none does.
    """

    levels: tuple[tuple[str, int], ...]
    disabled: int = 0

    @classmethod
    def here(cls) -> LogLevels:
        """Return the levels from which on loggers of this process show anything, those of handlers included."""
        root = logging.root
        loggers: Iterable[object] = list(root.manager.loggerDict.values())
        own = [
            (logger.name, _shown_from(logger))
            for logger in loggers
            if isinstance(logger, logging.Logger)
            and (logger.level or logger.handlers or not logger.propagate)
        ]
        return cls((("", _shown_from(root)), *sorted(own)), root.manager.disable)

    def apply(self, before: LogLevels | None) -> None:
        """Set them in this process.

        Args:
            before: Those that were set before; loggers that are no longer among them have no level of their own.
        """
        levels = dict(self.levels)
        for name in dict(before.levels if before else ()).keys() - levels.keys():
            logging.getLogger(name).setLevel(logging.NOTSET)
        for name, level in self.levels:
            logging.getLogger(name or None).setLevel(level)
        logging.disable(self.disabled)


def _shown_from(logger: logging.Logger) -> int:
    """Return the lowest level of which a handler would see a line of a logger."""
    return max(logger.getEffectiveLevel(), _lowest_of_handlers(logger))


def _lowest_of_handlers(logger: logging.Logger) -> int:
    levels: list[int] = []
    above: logging.Logger | None = logger
    while above is not None:
        shown = (found for found in above.handlers if not isinstance(found, logging.NullHandler))
        levels += [found.level for found in shown]
        above = above.parent if above.propagate else None
    if levels:
        return min(levels)
    last = logging.lastResort
    return _NOTHING if last is None else last.level
