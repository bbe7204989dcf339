"""Driving one operator with one input by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.datastream.functions.function_checks import Key
from penstock.runtime.exchange.elements import WatermarkStatus
from penstock.runtime.operator import StreamOperator
from penstock.testing.operator_harness import OperatorHarness


class OneInputOperatorHarness(OperatorHarness):
    """Drives one operator as a subtask would: with records, watermarks and a clock that stands still.

    The operator is the real one, with the real state and timers. As in a job, it is pickled first, and
    what runs is a copy. Most tests want the harness of a function; this one is for all operators.

    Args:
        operator: The operator.
        key_selector: What `key_by` would be given, if the operator needs keys.
        state_backend: Where keyed state lives: `hashmap` or `rocksdb`.
        parallelism: How many subtasks the operator seems to have.
        max_parallelism: Its number of key groups.
        subtask: Which of the subtasks this one is, from 0.
        job_parameters: The global parameters of the job. Default: none.
        processing_time: What the clock shows at first, in milliseconds.
        name: What messages call the operator. Default: as its class is called.

    Attributes:
        operator: The copy that runs.

    Raises:
        FunctionNotSerializableError: If the operator or its function cannot be pickled.
        InvalidConfigurationValueError: If there is no such state backend.
        RocksDBNotFoundError: If the backend is `rocksdb` and rocksdict is not installed.
        UserFunctionError: If the `open` of its function raises.

    Example:
        When does this generator of watermarks emit one?

        >>> from penstock.common import WatermarkStrategy
        >>> from penstock.runtime.operators.timestamps_and_watermarks import (
        ...     TimestampsAndWatermarksOperator,
        ... )
        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event["time"])
        >>> operator = TimestampsAndWatermarksOperator(strategy, 200)
        >>> with OneInputOperatorHarness(operator) as harness:
        ...     harness.process_element({"time": 5})
        ...     harness.set_processing_time(200)
        ...     harness.process_element({"time": 7})
        ...     for element in harness.get_output():
        ...         print(element)
        StreamRecord(value={'time': 5}, timestamp=5)
        StreamRecord(value={'time': 7}, timestamp=7)
        Watermark(timestamp=6)
    """

    def __init__(
        self,
        operator: StreamOperator,
        *,
        key_selector: Key | None = None,
        state_backend: str = "hashmap",
        parallelism: int = 1,
        max_parallelism: int = 128,
        subtask: int = 0,
        job_parameters: Mapping[str, str] | None = None,
        processing_time: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__(
            operator,
            key_selectors=[key_selector],
            state_backend=state_backend,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            subtask=subtask,
            job_parameters=job_parameters,
            processing_time=processing_time,
            name=name,
        )

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Give the operator a record.

        Args:
            value: The record.
            timestamp: Its event timestamp in milliseconds; None for none.

        Raises:
            UserFunctionError: If the operator's function raises.
            InvalidKeyError: If the key of the record cannot be one.
            InvalidArgumentError: If the key belongs to another subtask.
        """
        self._check_is_open("process_element")
        self._entry.collect(self._block(0, value, timestamp))

    def process_watermark(self, timestamp: int) -> None:
        """Give the operator a watermark: its event-time timers up to there fire.

        Args:
            timestamp: Milliseconds.

        Raises:
            UserFunctionError: If the operator's function raises.
            InvalidArgumentError: If it is less than the one before.
        """
        self._check_is_open("process_watermark")
        self._check_is_no_step_back("The watermark", timestamp, self._entry.watermark)
        self._entry.emit_watermark(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Tell the operator that its input became idle, or active again.

        Args:
            status: What it became.
        """
        self._check_is_open("process_watermark_status")
        self._entry.emit_status(status)
