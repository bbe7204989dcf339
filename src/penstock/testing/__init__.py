"""What tests need: an environment without Spark, input cut into epochs, functions driven by hand."""

from __future__ import annotations

from penstock.runtime.elements import StreamRecord, Watermark, WatermarkStatus
from penstock.testing.environment import local_environment
from penstock.testing.function_harness import KeyedProcessFunctionHarness, ProcessFunctionHarness
from penstock.testing.operator_harness import OneInputOperatorHarness, StateEntry
from penstock.testing.source import TestingSource

__all__ = [
    "KeyedProcessFunctionHarness",
    "OneInputOperatorHarness",
    "ProcessFunctionHarness",
    "StateEntry",
    "StreamRecord",
    "TestingSource",
    "Watermark",
    "WatermarkStatus",
    "local_environment",
]
