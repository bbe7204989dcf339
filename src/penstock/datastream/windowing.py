"""The ways in which a stream is cut into windows as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.runtime.windowing.assigner import WindowAssigner
from penstock.runtime.windowing.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)

if TYPE_CHECKING:
    from penstock.datastream.all_windowed_stream import AllWindowedStream
    from penstock.datastream.stream import DataStream


class Windowing:
    """The ways in which a stream is cut into windows as a whole."""

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Put all records of the stream into windows, in one subtask.

        That subtask gets every record, so this does not grow with the cluster: prefer windows by key
        (`key_by(...).window(...)`) where there is a key.

        Args:
            window_assigner: Says which windows a record belongs to.

        Returns:
            The stream, to be told what to do with the windows.

        Raises:
            InvalidArgumentError: If it is no `WindowAssigner`.
        """
        from penstock.datastream.all_windowed_stream import AllWindowedStream

        return AllWindowedStream(cast("DataStream", self), window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Put all records of the stream into windows of a number of records, in one subtask.

        PyFlink does not have it; see `KeyedStream.count_window`, whose windows these are.

        Args:
            size: How many records a window has, at least 1.
            slide: How many records after one window the next starts. Default: 0, for `size`.

        Returns:
            The stream, to be told what to do with the windows.

        Raises:
            InvalidWindowError: If the size is below 1, or the slide below 0.
        """
        return self.window_all(count_windows(size, slide))


def count_windows(size: int, slide: int) -> WindowAssigner[Any, Any]:
    """Return the assigner of windows of a number of records; a slide of 0 stands for the size.

    Raises:
        InvalidWindowError: If the size is below 1, or the slide below 0.
    """
    if slide == 0 and not isinstance(slide, bool):
        return CountTumblingWindowAssigner.of(size)
    return CountSlidingWindowAssigner.of(size, slide)
