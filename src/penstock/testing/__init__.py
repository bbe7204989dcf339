"""What tests need: an environment without Spark, input cut into epochs, functions driven by hand."""

from __future__ import annotations

from penstock.runtime.exchange.elements import StreamRecord, Watermark, WatermarkStatus
from penstock.testing.async_function_harness import AsyncFunctionHarness
from penstock.testing.co_function_harness import (
    BroadcastProcessFunctionHarness,
    CoProcessFunctionHarness,
    KeyedBroadcastProcessFunctionHarness,
    KeyedCoProcessFunctionHarness,
)
from penstock.testing.environment import local_environment
from penstock.testing.function_harness import KeyedProcessFunctionHarness, ProcessFunctionHarness
from penstock.testing.one_input_harness import OneInputOperatorHarness
from penstock.testing.operator_harness import StateEntry
from penstock.testing.source import TestingSource, TestingTableSource
from penstock.testing.stream_harness import DataStreamHarness
from penstock.testing.two_input_harness import TwoInputOperatorHarness

__all__ = [
    "AsyncFunctionHarness",
    "BroadcastProcessFunctionHarness",
    "CoProcessFunctionHarness",
    "DataStreamHarness",
    "KeyedBroadcastProcessFunctionHarness",
    "KeyedCoProcessFunctionHarness",
    "KeyedProcessFunctionHarness",
    "OneInputOperatorHarness",
    "ProcessFunctionHarness",
    "StateEntry",
    "StreamRecord",
    "TestingSource",
    "TestingTableSource",
    "TwoInputOperatorHarness",
    "Watermark",
    "WatermarkStatus",
    "local_environment",
]
