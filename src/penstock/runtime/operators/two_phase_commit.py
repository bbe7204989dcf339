"""The operator of a sink that delivers once: it drives the sink's writer, epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from penstock.errors import (
    InvalidArgumentError,
    JobCancelledError,
    SinkError,
    ValueNotSerializableError,
)
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.operator import OperatorPart, StreamOperator
from penstock.runtime.sinks import (
    SinkWriter,
    TwoPhaseCommit,
    WriterContext,
    committable_to_plain,
)
from penstock.runtime.user_code import (
    FAILURES,
    described_failure,
    failing_record,
    function_failure,
    record_text,
)

T = TypeVar("T")


class TwoPhaseCommitOperator(StreamOperator):
    """Hands records to the writer of a sink, and tells the driver what the writer prepared.

    Args:
        sink: The sink.
    """

    keeps_to_itself = True

    def __init__(self, sink: TwoPhaseCommit) -> None:
        self.sink = sink
        self.needs_its_subtask = sink.has_writer_state
        self.keeps_records = sink.has_writer_state or sink.restores_writer_state
        self.delivers_to = f"{type(sink).__qualname__} {sink.place}".rstrip()
        self._writer: SinkWriter | None = None
        self._snapshots: list[bytes] = []
        self._is_between_epochs = False
        self._is_interrupted = False

    @property
    def wants_wake_ups(self) -> bool:
        return self.sink.wants_wake_ups

    def open(self) -> None:
        self._context = WriterContext(
            self.name,
            self.operator_id,
            replace(self.context, without_state="the writer of a sink"),
            self.processing_time.current_processing_time,
        )

    def restore(self, snapshot: bytes | None) -> None:
        snapshots: list[bytes] = [] if snapshot is None else loads(snapshot)
        if not self._is_between_epochs or snapshots != self._snapshots:
            self._discard()
        self._snapshots = snapshots

    def begin_epoch(self, epoch: Epoch) -> None:
        if not self._is_between_epochs:
            self._discard()
        self._is_between_epochs = False
        self._context.begin(epoch)
        if self._writer is None:
            self._guarded("opening its writer", self._create)

    def _create(self) -> None:
        self._writer = writer = self.sink.create_writer(self._context)
        if self._is_interrupted:
            writer.interrupt()
        if self._snapshots:
            writer.restore(self._snapshots)

    def process_block(self, block: Block) -> None:
        assert self._writer is not None
        write = self._writer.write
        # Writers keep records until the epoch ends.
        block = block.settled()
        rest = iter(block.values)
        try:
            if self._writer.write_block(block.values, block.timestamps):
                return
            if block.timestamps is None:
                for value in rest:
                    write(value, None)
            else:
                for value, timestamp in zip(rest, block.timestamps, strict=True):
                    write(value, timestamp)
        except (JobCancelledError, SinkError):
            raise
        except FAILURES as error:
            raise function_failure(error, self.name, failing_record(block, rest)) from error

    def process_watermark(self, timestamp: int) -> None:
        self._context.watermark = timestamp
        super().process_watermark(timestamp)

    def end_input(self) -> None:
        assert self._writer is not None
        self._guarded("ending its input", self._writer.end_input)

    def flush(self) -> None:
        assert self._writer is not None
        for committable in self._guarded("preparing its commit", self._writer.prepare_commit):
            self.to_driver("prepared", (self.operator_id, self._plain(committable)))

    def _plain(self, committable: Any) -> str:
        try:
            return committable_to_plain(committable)
        except Exception as error:
            raise ValueNotSerializableError(
                f"{self.name!r} prepared {record_text(committable)}, which cannot be pickled: {error}",
                hint="A committable is plain data, such as the name of a file.",
            ) from error

    def snapshot(self) -> bytes | None:
        assert self._writer is not None
        snapshot = self._guarded("taking its snapshot", self._writer.snapshot)
        if snapshot is not None and not self.sink.has_writer_state:
            raise InvalidArgumentError(
                f"The writer of {self.name!r} has a snapshot, but its sink says that there is none.",
                hint="Set has_writer_state = True in the class of the sink.",
            )
        self._snapshots = [] if snapshot is None else [snapshot]
        self._is_between_epochs = True
        return dumps(self._snapshots) if self._snapshots else None

    def merge_snapshots(self, snapshots: list[bytes]) -> bytes:
        return dumps([one for several in snapshots for one in loads(several)])

    def redistribute(
        self,
        parts: Sequence[OperatorPart],
        subtask: int,
        parallelism: int,
        subtask_of: Callable[[Any], int] | None,
    ) -> bytes | None:
        found = [one for part in parts if part.snapshot for one in loads(part.snapshot)]
        return dumps(found[subtask::parallelism]) if found[subtask::parallelism] else None

    def next_wake_up(self) -> int | None:
        assert self._writer is not None
        return self._writer.next_wake_up()

    def interrupt(self) -> None:
        self._is_interrupted = True
        if (writer := self._writer) is not None:
            writer.interrupt()

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            self._guarded("closing its writer", writer.close)

    def _discard(self) -> None:
        """Give up the writer, of which nobody knows in what state it is."""
        writer, self._writer = self._writer, None
        self._is_between_epochs = False
        if writer is not None:
            self._guarded("closing a writer that is given up", writer.close)

    def _guarded(self, what: str, step: Callable[[], T]) -> T:
        try:
            return step()
        except (JobCancelledError, SinkError):
            raise
        except FAILURES as error:
            raise described_failure(error, self.name, what) from error
