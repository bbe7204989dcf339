"""Asynchronous calls of 10 ms as a PyFlink program; started and asked as `pyflink_job.py` is.

The execution mode has to be `process`: in the other one there are no asynchronous calls. A further
argument says whether results are `ordered` or `unordered`.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.sides.calls import after_ten_ms
from benchmarks.sides.pyflink_job import numbers, serve
from pyflink.common import Time, Types  # type: ignore[import-not-found]
from pyflink.datastream import AsyncDataStream, AsyncFunction  # type: ignore[import-not-found]

CAPACITY = 100


class AfterTenMs(AsyncFunction):  # type: ignore[misc]
    """Returns each number after 10 ms."""

    async def async_invoke(self, value: int) -> list[int]:
        """Returns the number, in a list."""
        return await after_ten_ms(value)


def stream(env: Any, records: int) -> Any:
    wait = {
        "ordered": AsyncDataStream.ordered_wait,
        "unordered": AsyncDataStream.unordered_wait,
    }[sys.argv[2]]
    return wait(numbers(env, records), AfterTenMs(), Time.seconds(60), CAPACITY, Types.LONG())


if __name__ == "__main__":
    serve(stream)
