"""Driving one operator with two inputs by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.datastream.functions.function_checks import Key
from penstock.runtime.exchange.elements import WatermarkStatus
from penstock.runtime.operator import TwoInputOperator
from penstock.testing.operator_harness import OperatorHarness


class TwoInputOperatorHarness(OperatorHarness):
    """Drives one operator with two inputs; else as `OneInputOperatorHarness` does.

    The operator is told of the lesser of both inputs' watermarks; an input that is idle is left out.

    Args:
        operator: The operator.
        key_selector1: What `key_by` would be given for the first input, if the operator needs keys.
        key_selector2: The same for the second input.
        state_backend: Where keyed state lives: `hashmap` or `rocksdb`.
        parallelism: How many subtasks the operator seems to have.
        max_parallelism: Its number of key groups.
        subtask: Which of the subtasks this one is, from 0.
        job_parameters: The global parameters of the job. Default: none.
        processing_time: What the clock shows at first, in milliseconds.

    Attributes:
        operator: The copy that runs.

    Raises:
        FunctionNotSerializableError: If the operator or its function cannot be pickled.
        InvalidConfigurationValueError: If there is no such state backend.
        RocksDBNotFoundError: If the backend is `rocksdb` and rocksdict is not installed.
        UserFunctionError: If the `open` of its function raises.

    Example:
        >>> from penstock.runtime.operators.co_process import CoProcessOperator
        >>> class Sides:
        ...     def process_element1(self, value, ctx):
        ...         yield "left", value
        ...     def process_element2(self, value, ctx):
        ...         yield "right", value
        >>> with TwoInputOperatorHarness(CoProcessOperator(Sides())) as harness:
        ...     harness.process_element1(1, timestamp=5)
        ...     harness.process_watermark1(9)
        ...     harness.process_element2(2, timestamp=6)
        ...     harness.process_watermark2(7)
        ...     for element in harness.get_output():
        ...         print(element)
        StreamRecord(value=('left', 1), timestamp=5)
        StreamRecord(value=('right', 2), timestamp=6)
        Watermark(timestamp=7)
    """

    operator: TwoInputOperator

    def __init__(
        self,
        operator: TwoInputOperator,
        *,
        key_selector1: Key | None = None,
        key_selector2: Key | None = None,
        state_backend: str = "hashmap",
        parallelism: int = 1,
        max_parallelism: int = 128,
        subtask: int = 0,
        job_parameters: Mapping[str, str] | None = None,
        processing_time: int = 0,
    ) -> None:
        super().__init__(
            operator,
            key_selectors=[key_selector1, key_selector2],
            state_backend=state_backend,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            subtask=subtask,
            job_parameters=job_parameters,
            processing_time=processing_time,
        )

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """Give the operator a record of its first input.

        Args:
            value: The record.
            timestamp: Its event timestamp in milliseconds; None for none.

        Raises:
            UserFunctionError: If the operator's function raises.
            InvalidKeyError: If the key of the record cannot be one.
            InvalidArgumentError: If the key belongs to another subtask.
        """
        self._check_is_open("process_element1")
        block = self._block(0, value, timestamp)
        self.operator.metrics.records_in += 1
        self.operator.process_block1(block)

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """Give the operator a record of its second input; see `process_element1`.

        Args:
            value: The record.
            timestamp: Its event timestamp in milliseconds; None for none.
        """
        self._check_is_open("process_element2")
        block = self._block(1, value, timestamp)
        self.operator.metrics.records_in += 1
        self.operator.process_block2(block)

    def process_watermark1(self, timestamp: int) -> None:
        """Bring the first input to a watermark.

        Args:
            timestamp: Milliseconds.

        Raises:
            UserFunctionError: If the operator's function raises.
            InvalidArgumentError: If it is less than the one before.
        """
        self._process_watermark(0, timestamp)

    def process_watermark2(self, timestamp: int) -> None:
        """Bring the second input to a watermark; see `process_watermark1`.

        Args:
            timestamp: Milliseconds.
        """
        self._process_watermark(1, timestamp)

    def process_both_watermarks(self, timestamp: int) -> None:
        """Bring both inputs to a watermark; see `process_watermark1`.

        Args:
            timestamp: Milliseconds.
        """
        self._process_watermark(0, timestamp)
        self._process_watermark(1, timestamp)

    def process_watermark_status1(self, status: WatermarkStatus) -> None:
        """Let the first input become idle, or active again.

        Args:
            status: What it becomes.
        """
        self._process_status(0, status)

    def process_watermark_status2(self, status: WatermarkStatus) -> None:
        """Let the second input become idle, or active again.

        Args:
            status: What it becomes.
        """
        self._process_status(1, status)

    def _process_watermark(self, number: int, timestamp: int) -> None:
        self._check_is_open("A watermark")
        before = self._status.inputs[number].timestamp
        self._check_is_no_step_back("The watermark", timestamp, before)
        self._status.input_watermark(number, timestamp)

    def _process_status(self, number: int, status: WatermarkStatus) -> None:
        self._check_is_open("A status")
        self._status.input_status(number, status)
