"""Driving by hand the operator that makes a stream."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.datastream.streams.data_stream import DataStream
from penstock.errors import InvalidArgumentError
from penstock.graph.transformation import OperatorTransformation, PartitionTransformation
from penstock.runtime.exchange.partitioners import KeyGroupStreamPartitioner
from penstock.testing.one_input_harness import OneInputOperatorHarness


class DataStreamHarness(OneInputOperatorHarness):
    """Drives the operator that makes a stream: by records, watermarks and a clock of its own.

    The program is built as it is for a job, up to that stream, and is not executed: what the test says
    takes the place of its sources. So windows with their triggers, evictors and functions are tested
    as they are written. Messages call the operator by the stream's name.

    Args:
        stream: What an operation returned, such as `reduce` of a `WindowedStream`.
        state_backend: Where keyed state lives: `hashmap` or `rocksdb`.
        parallelism: How many subtasks the operator seems to have.
        max_parallelism: Its number of key groups.
        subtask: Which of the subtasks this one is, from 0.
        job_parameters: The global parameters of the job. Default: none.
        processing_time: What the clock shows at first, in milliseconds.

    Raises:
        InvalidArgumentError: If the stream is not the output of one operator with one input.
        FunctionNotSerializableError: If the operator or its function cannot be pickled.
        UserFunctionError: If the `open` of its function raises.

    Example:
        >>> from penstock.datastream.window import TumblingEventTimeWindows
        >>> from penstock.testing import local_environment
        >>> clicks = local_environment().from_collection([])
        >>> windows = clicks.key_by(lambda user: user).window(TumblingEventTimeWindows.of(1000))
        >>> counts = windows.apply(lambda user, window, clicks: [(user, len(clicks))])
        >>> harness = DataStreamHarness(counts)
        >>> harness.process_element("ann", timestamp=10)
        >>> harness.process_element("ann", timestamp=999)
        >>> harness.process_watermark(998)
        >>> harness.extract_output_values()
        []
        >>> harness.process_watermark(999)
        >>> harness.extract_output_values()
        [('ann', 2)]
        >>> harness.num_keyed_state_entries(), harness.num_event_time_timers()
        (0, 0)
    """

    def __init__(
        self,
        stream: DataStream,
        *,
        state_backend: str = "hashmap",
        parallelism: int = 1,
        max_parallelism: int = 128,
        subtask: int = 0,
        job_parameters: Mapping[str, str] | None = None,
        processing_time: int = 0,
    ) -> None:
        made_by = stream._transformation  # noqa: SLF001
        if not isinstance(made_by, OperatorTransformation) or len(made_by.inputs) != 1:
            raise InvalidArgumentError(
                "The harness was given a stream that is not the output of one operator with one input.",
                hint="Give what an operation such as map() or a window's reduce() returned.",
            )
        (read,) = made_by.inputs
        partitioner = read.partitioner if isinstance(read, PartitionTransformation) else None
        super().__init__(
            made_by.operator,
            key_selector=partitioner.key_selector
            if isinstance(partitioner, KeyGroupStreamPartitioner)
            else None,
            state_backend=state_backend,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            subtask=subtask,
            job_parameters=job_parameters,
            processing_time=processing_time,
            name=made_by.name,
        )
