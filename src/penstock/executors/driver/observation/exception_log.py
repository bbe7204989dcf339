"""The last exceptions that epochs of a job failed with, the same ones in a row as one."""

from __future__ import annotations

import traceback
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from penstock.common.configuration.secrets import without_secrets
from penstock.errors import PenstockError, UserFunctionError
from penstock.executors.driver.recovery.restarts import first_line_of
from penstock.executors.driver.reports.job_view import ExceptionView
from penstock.runtime.program import Program

_MOST: Final = 10
_RECORD_LENGTH: Final = 200


class ExceptionLog:
    """Keeps the last ten exceptions.

    Attributes:
        vertex_ids: The chains of the operators, by the names of these; none of a name that several chains have.
    """

    def __init__(self) -> None:
        self.vertex_ids: Mapping[str, str] = {}
        self._found: deque[ExceptionView] = deque(maxlen=_MOST)
        self._last: BaseException | None = None

    def know(self, program: Program) -> None:
        """Learn which operators are in which chains."""
        chains = defaultdict(set)
        for vertex in program.vertices:
            for spec in vertex.operators:
                chains[spec.name].add(vertex.vertex_id)
        self.vertex_ids = {name: one for name, (one, *more) in chains.items() if not more}

    def add(self, error: BaseException, happened: int, epoch: int | None) -> None:
        """Note what an epoch, or the start of the job, failed with; the same object counts once.

        Args:
            error: The exception.
            happened: When (milliseconds since 1970).
            epoch: The number of the epoch; None if it was in none.
        """
        if error is self._last:
            return
        self._last = error
        found = self._view(error, happened, epoch)
        if self._found and _is_same(self._found[0], found):
            found = replace(found, times=self._found.popleft().times + 1)
        self._found.appendleft(found)

    def _view(self, error: BaseException, happened: int, epoch: int | None) -> ExceptionView:
        record = getattr(error, "record", None)
        operator = getattr(error, "operator", None) or None
        return ExceptionView(
            happened,
            getattr(error, "user_class", None) or type(error).__name__,
            without_secrets(first_line_of(error)),
            without_secrets(_text(error)),
            operator,
            self.vertex_ids.get(operator) if operator is not None else None,
            None if record is None else without_secrets(record)[:_RECORD_LENGTH],
            epoch,
        )

    def views(self) -> tuple[ExceptionView, ...]:
        """Return them, the newest first."""
        return tuple(self._found)


def _is_same(one: ExceptionView, other: ExceptionView) -> bool:
    return replace(one, times=1, happened=0, epoch=None) == replace(
        other, times=1, happened=0, epoch=None
    )


def _text(error: BaseException) -> str:
    """Return what people need to see: the user's own traceback, or what a named error says."""
    if isinstance(error, UserFunctionError) and error.user_traceback is not None:
        return error.user_traceback
    if isinstance(error, PenstockError):
        return str(error)
    return "".join(traceback.format_exception(error))
