"""A query whose process is slow to come up is started again, without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

from penstock.executors.spark.hosted.starting import is_too_late, started

LATE = PySparkException("[...] Python worker failed to connect back.")


class FakeWriter:
    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)

    def start(self) -> str:
        if self._errors:
            raise self._errors.pop(0)
        return "query"


@pytest.mark.parametrize("late", [0, 1])
def test_it_is_started_again(late: int) -> None:
    writer: Any = FakeWriter(*[LATE] * late)
    assert started(writer) == "query"  # type: ignore[comparison-overlap]


def test_it_is_given_up_in_the_end() -> None:
    writer: Any = FakeWriter(LATE, LATE)
    with pytest.raises(PySparkException) as raised:
        started(writer)
    assert is_too_late(raised.value)


def test_another_error_is_raised_at_once() -> None:
    writer: Any = FakeWriter(PySparkException("other"))
    with pytest.raises(PySparkException, match="other"):
        started(writer)
