"""A look at some of the values that an operator has, to see whether a function is what it has to be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final

from penstock.errors import PenstockError
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.user_code import FAILURES, record_text
from penstock.runtime.windows.checks.alike import are_alike

SAMPLES: Final = 16
_RECORDS: Final = 20_000

Compute = Callable[[list[Any]], Any]
"""Joins values, which it may change."""


class SampledCheck(ABC):
    """Looks at three records of one key, or at what three panes of one window have come to.

    Of the records that come, three of one key are looked at, and later three more, up to `SAMPLES`
    times; of the panes that fire, three of one window, as often. Only the first records are searched
    for such. Then the check is over, and costs nothing more.

    Functions are called with copies. Results that cannot be compared, or that differ from call to call,
    say nothing.
    """

    def __init__(self) -> None:
        self._records_left = _RECORDS
        self._record_samples_left = SAMPLES
        self._pane_samples_left = SAMPLES
        self._seen: dict[Any, list[Any]] = {}

    @property
    def wants_records(self) -> bool:
        """Whether it still looks at records."""
        return self._records_left > 0 and self._record_samples_left > 0

    @property
    def wants_panes(self) -> bool:
        """Whether it still looks at panes."""
        return self._pane_samples_left > 0

    def look_at_records(self, keys: Iterable[Any], values: list[Any]) -> None:
        """Look at three values of some key, if with these there are so many.

        Raises:
            PenstockError: If the function is found not to be what it has to be.
        """
        self._records_left -= len(values)
        seen = self._seen
        for key, value in zip(keys, values, strict=True):
            same = seen.setdefault(key, [])
            same.append(value)
            if len(same) == 3:
                self._record_samples_left -= 1
                self._compare_records(key, seen.pop(key))
                break
        if not self.wants_records:
            seen.clear()

    def look_at_panes(self, key: Any, values: list[Any]) -> None:
        """Look at the first three of what the panes of a window have come to.

        Raises:
            PenstockError: If the function is found not to be what it has to be.
        """
        if len(values) >= 3:
            self._pane_samples_left -= 1
            self._compare_panes(key, values[:3])

    def _compare(self, key: Any, values: list[Any], plain: Compute, other: Compute) -> None:
        """Compare what two ways to join values come to; the plain one is right.

        Raises:
            PenstockError: If the other fails, or comes to something else.
        """
        try:
            pickled = dumps(values)
            expected = plain(loads(pickled))
            operands = self._operands(values)
            is_steady = are_alike(expected, plain(loads(pickled)), operands)
        except FAILURES:
            # What cannot be pickled, compared or joined one by one is told elsewhere, if at all.
            return
        if not is_steady:
            return
        try:
            found = other(loads(pickled))
        except FAILURES as error:
            raise self._error(key, values, expected, f"raises {error!r}") from error
        try:
            is_right = are_alike(expected, found, operands)
        except FAILURES:
            return
        if not is_right:
            raise self._error(key, values, expected, f"is {record_text(found)}")

    def _operands(self, values: list[Any]) -> list[Any]:
        """Return what results are made of: see `are_alike`."""
        return values

    @abstractmethod
    def _error(self, key: Any, values: list[Any], expected: Any, found: str) -> PenstockError:
        """Return what to raise where the plain way and the other come to different results."""

    @abstractmethod
    def _compare_records(self, key: Any, values: list[Any]) -> None:
        """Look at three records of a key."""

    @abstractmethod
    def _compare_panes(self, key: Any, values: list[Any]) -> None:
        """Look at what three panes of a window have come to."""
