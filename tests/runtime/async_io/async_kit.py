"""What the tests of the asynchronous operator share."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.async_io.scripts import Scripted

from penstock.datastream import (
    OutputTag,
)
from penstock.testing import AsyncFunctionHarness, StreamRecord, WatermarkStatus

FAILED = OutputTag("failed")
BOTH = pytest.mark.parametrize("ordered", [True, False])


def scripted(**options: Any) -> AsyncFunctionHarness:
    return AsyncFunctionHarness(Scripted(), **options)


def values(harness: AsyncFunctionHarness) -> list[Any]:
    """What came out since the last call: values, and watermarks as `w1`."""
    found = [
        element.value if isinstance(element, StreamRecord) else f"w{element.timestamp}"
        for element in harness.get_output()
        if not isinstance(element, WatermarkStatus)
    ]
    harness.clear_output()
    return found


def metrics(harness: AsyncFunctionHarness) -> dict[str, Any]:
    return {
        name.removeprefix("async."): value
        for name, value in harness.operator.metrics.user.take().items()
    }
