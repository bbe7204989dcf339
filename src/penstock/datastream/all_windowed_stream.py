"""Streams that are cut into windows as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.datastream.windows import Windows
from penstock.runtime.operators.window_call import ApplyAllCall, ProcessAllCall
from penstock.runtime.partitioners import KeyGroupStreamPartitioner
from penstock.runtime.windowing.assigner import WindowAssigner

if TYPE_CHECKING:
    from penstock.datastream.stream import DataStream


class AllWindowedStream(Windows):
    """A stream whose records are put into windows, all of them in one subtask.

    Args:
        data_stream: The stream.
        window_assigner: Says which windows a record belongs to.

    Raises:
        InvalidArgumentError: If it is no `WindowAssigner`.

    Example:
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment(parallelism=2).from_collection([1, 2, 3, 4])
        >>> joined = numbers.count_window_all(4).apply(lambda window, inputs: [sorted(inputs)])
        >>> list(joined.execute_and_collect())
        [[1, 2, 3, 4]]
    """

    _apply_call = ApplyAllCall
    _process_call = ProcessAllCall
    _arguments = (2, 2)

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        from penstock.datastream.keyed_stream import KeyedStream  # which has windows, too

        partition = data_stream._partition(KeyGroupStreamPartitioner(_one_key))  # noqa: SLF001
        keyed = KeyedStream(data_stream.get_execution_environment(), partition)
        super().__init__(keyed, window_assigner)

    def _windowed(self, *arguments: Any) -> DataStream:
        return super()._windowed(*arguments).force_non_parallel()


def _one_key(_: Any) -> int:
    return 0
