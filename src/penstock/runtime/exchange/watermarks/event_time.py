"""Event time where it begins: timestamps of records, generators of watermarks, splits, idleness."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from penstock.common.watermark_generator import (
    BoundedOutOfOrderness,
    WatermarkGenerator,
    WatermarkGeneratorContext,
)
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.errors import (
    InvalidFunctionError,
    UnsupportedOperationError,
    ValueNotSerializableError,
)
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block, ChannelWatermark, WatermarkStatus
from penstock.runtime.exchange.output import Output
from penstock.runtime.exchange.watermarks.timestamps import (
    checked_watermark,
    lacks_timestamps,
    timed_block,
)
from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.user_code import function_failure, record_text

_RECORDS_PER_EMIT: Final = 8192


@dataclass(slots=True)
class _Split:
    """What is known of one split.

    Attributes:
        generator: Makes its watermarks; None for none.
        watermark: The last of them, in milliseconds.
        is_idle: Whether nobody waits for it.
        timed_out: Whether it is idle because it was empty too long; its generator is not asked then.
        empty_since: The processing time (milliseconds) at the end of the first epoch that found it
            empty; None if the last epoch did not.
        has_data: Whether this epoch found records.
    """

    generator: WatermarkGenerator | None
    watermark: int = MIN_TIMESTAMP
    is_idle: bool = False
    timed_out: bool = False
    empty_since: int | None = None
    has_data: bool = False

    def emit_watermark(self, timestamp: int) -> None:
        """Take a watermark; only a greater one counts, and makes an idle split active."""
        if type(timestamp) is not int or timestamp > MAX_TIMESTAMP:
            timestamp = checked_watermark(timestamp)
        if timestamp > self.watermark:
            self.watermark = timestamp
            self.is_idle = False

    def mark_idle(self) -> None:
        """Let nobody wait for this split."""
        self.is_idle = True

    def mark_active(self) -> None:
        """Let this split count again."""
        self.is_idle = False


class EventTime:
    """Gives records their timestamps, and the stream its watermarks: each split its own generator.

    Args:
        strategy: Says how.
        interval: The time between periodic watermarks, in milliseconds; 0 for none.
        name: The name of the operator, for messages.
        output: Where records and watermarks go.
        clock: The processing time, in milliseconds.
        has_splits: Whether records come with the name of their split; else all are of one, which is
            there before the first record, so that a task which gets none may turn idle.
        holds_back: Whether watermarks wait for the end of the epoch: what comes last in it may be as old
            as what came first.
        metrics: Where generators may count. Default: nowhere that anybody sees.
    """

    def __init__(
        self,
        strategy: WatermarkStrategy,
        interval: int,
        name: str,
        output: Output,
        clock: Callable[[], int],
        *,
        has_splits: bool = False,
        holds_back: bool = False,
        metrics: MetricGroup | None = None,
    ) -> None:
        self._strategy = strategy
        self._has_splits = has_splits
        self._holds_back = holds_back
        self._interval = interval
        self._name = name
        self._output = output
        self._clock = clock
        self._context = WatermarkGeneratorContext(metrics or MetricGroup())
        self._splits: dict[Hashable, _Split] = {}
        self._emitted = MIN_TIMESTAMP
        self._is_idle = False
        self._last_emit = 0
        self._records = 0

    def begin_epoch(self) -> None:
        """Begin an epoch: splits that were empty too long are idle from now on."""
        now = self._clock()
        timeout = self._strategy.idle_timeout
        if not self._has_splits:
            self._split(None)
        for split in self._splits.values():
            split.has_data = False
            since = split.empty_since
            if timeout is not None and since is not None and now - since > timeout:
                split.is_idle = split.timed_out = True
        self._last_emit = now
        self._announce()

    def begin_split(self, name: Hashable) -> None:
        """Let a split take part from now on, though none of its records is there yet."""
        self._split(name)

    def process(self, block: Block, name: Hashable = None) -> None:
        """Emit the records of one split with their timestamps, and the watermarks they call for."""
        if not len(block):
            return
        split = self._split(name)
        split.has_data = True
        split.timed_out = False
        if split.generator is None and self._strategy.timestamp_assigner is None:
            self._output.collect(block)
            return
        assigner = self._strategy.timestamp_assigner
        # Where nothing tells timestamps, records that have none get none: an operator that needs them says so.
        is_timeless = assigner is None and lacks_timestamps(block)
        timed = block if is_timeless else timed_block(block, assigner, self._name)
        generator = split.generator
        if generator is None:
            self._output.collect(timed)
            return
        if type(generator) is BoundedOutOfOrderness:
            self._output.collect(timed)
            if latest := _known_timestamps(timed) if is_timeless else _latest(timed):
                generator.on_block(latest)
        else:
            self._process_each(timed, split, generator)
        self._records += len(timed)
        if (self._interval and not self._holds_back) and (
            self._records >= _RECORDS_PER_EMIT or self._clock() - self._last_emit >= self._interval
        ):
            self._emit_periodic()

    def _process_each(self, block: Block, split: _Split, generator: WatermarkGenerator) -> None:
        """Show each record to the generator; a watermark follows the very record it comes from."""
        start = 0
        timestamps = block.timestamps or [None] * len(block)
        for index, (value, timestamp) in enumerate(zip(block.values, timestamps, strict=True)):
            before = split.watermark, split.is_idle
            try:
                generator.on_event(value, MIN_TIMESTAMP if timestamp is None else timestamp, split)
            except Exception as error:
                raise function_failure(error, self._name, record_text(value)) from error
            is_changed = not self._holds_back and (split.watermark, split.is_idle) != before
            # What the generator was shown it may change when it is shown the next.
            if is_changed or not block.is_immutable:
                self._output.collect(block.part(start, index + 1))
                start = index + 1
            if is_changed:
                self._announce()
        self._output.collect(block.part(start, len(timestamps)))

    def _emit_periodic(self) -> None:
        self._records = 0
        self._last_emit = self._clock()
        for split in self._splits.values():
            if split.generator is not None and not split.timed_out:
                try:
                    split.generator.on_periodic_emit(split)
                except Exception as error:
                    raise function_failure(error, self._name, None) from error
        self._announce()

    def _announce(self) -> None:
        """Emit the least watermark of the active splits, if it is a new one, or that all are idle."""
        active = [split.watermark for split in self._splits.values() if not split.is_idle]
        watermark = min(active, default=MIN_TIMESTAMP)
        if not active and self._splits:
            # Whoever waited for the last of them learns how far the others had come.
            watermark = max(split.watermark for split in self._splits.values())
            self._emit(watermark)
            if not self._is_idle:
                self._is_idle = True
                self._output.emit_status(WatermarkStatus.IDLE)
            return
        if self._is_idle:
            self._is_idle = False
            self._output.emit_status(WatermarkStatus.ACTIVE)
        self._emit(watermark)

    def _emit(self, watermark: int) -> None:
        if watermark > self._emitted:
            self._emitted = watermark
            self._output.emit_watermark(watermark)

    def end_input(self) -> None:
        """Emit the last watermark of all."""
        if self._is_idle:
            self._is_idle = False
            self._output.emit_status(WatermarkStatus.ACTIVE)
        self._emit(MAX_TIMESTAMP)

    def flush(self) -> None:
        """Emit the watermark that the epoch ends with."""
        if self._interval:
            self._emit_periodic()
        elif self._holds_back:
            self._announce()

    def progress(self) -> tuple[tuple[Hashable, ChannelWatermark], ...]:
        """Return how far each split has come."""
        return tuple(
            (name, ChannelWatermark(split.watermark, split.is_idle))
            for name, split in self._splits.items()
        )

    def _split(self, name: Hashable) -> _Split:
        split = self._splits.get(name)
        if split is None:
            split = self._splits[name] = _Split(self._make_generator())
        return split

    def _make_generator(self) -> WatermarkGenerator | None:
        make: Callable[[], Any] | None = self._strategy.generator
        if make is None:
            return None
        try:
            generator = make()
        except Exception as error:
            raise function_failure(error, self._name, None) from error
        if not isinstance(generator, WatermarkGenerator):
            raise InvalidFunctionError(
                f"Operator {self._name!r} was to make a watermark generator, and got "
                f"{record_text(generator)} from {record_text(make)}.",
                hint="Give for_generator() the class of a WatermarkGenerator, or a function that "
                "returns one.",
            )
        self._open(generator)
        return generator

    def _open(self, generator: WatermarkGenerator) -> None:
        try:
            generator.open(self._context)
        except Exception as error:
            raise function_failure(error, self._name, None) from error

    def snapshot(self) -> bytes:
        """Return the state of all splits, as the epoch ends.

        Raises:
            ValueNotSerializableError: If a generator cannot be pickled.
        """
        now = self._clock()
        for split in self._splits.values():
            if split.has_data:
                split.empty_since = None
            elif split.empty_since is None:
                split.empty_since = now
        self._forget_ended()
        try:
            return dumps((self._splits, self._emitted, self._is_idle))
        except Exception as error:
            raise ValueNotSerializableError(
                f"The watermark generator of operator {self._name!r} cannot be pickled: {error}",
                hint="Define its class at the top level of a module or script, and keep plain data.",
            ) from error

    def _forget_ended(self) -> None:
        """Forget splits that were empty too long, as files that are read are.

        Nobody waits for them, and the stream's watermark has passed theirs. Should one come back, it is a new one:
        its watermark counts from where the stream's is, as that never goes back. One is kept, which is the
        farthest: without any the stream would not be idle.
        """
        ended = [name for name, split in self._splits.items() if self._has_ended(split)]
        if len(ended) == len(self._splits) and ended:
            ended.remove(max(ended, key=lambda name: self._splits[name].watermark))
        for name in ended:
            del self._splits[name]

    def _has_ended(self, split: _Split) -> bool:
        if not split.timed_out or split.watermark > self._emitted:
            return False
        try:
            return split.generator is None or split.generator.can_begin_anew()
        except Exception as error:
            raise function_failure(error, self._name, None) from error

    def restore(self, state: bytes | None) -> None:
        """Take over what `snapshot` or `merge_event_time` gave; None begins anew."""
        if state is None:
            self._splits, self._emitted, self._is_idle = {}, MIN_TIMESTAMP, False
        else:
            self._splits, self._emitted, self._is_idle = loads(state)
        for split in self._splits.values():
            if split.generator is not None:
                self._open(split.generator)

    def next_idle_check(self) -> int | None:
        """Return when the next split may turn idle (processing time in milliseconds), None for never."""
        timeout = self._strategy.idle_timeout
        if timeout is None:
            return None
        waiting = [split.empty_since for split in self._splits.values() if not split.is_idle]
        return min((since + timeout + 1 for since in waiting if since is not None), default=None)


def _latest(block: Block) -> list[int]:
    """Return timestamps of a block, the greatest of which is the greatest of all."""
    if isinstance(block, ColumnBlock):
        return [block.latest()]
    return block.timestamps  # type: ignore[return-value]


def _known_timestamps(block: Block) -> list[int]:
    """Return the timestamps of those records of a block that have one."""
    return [timestamp for timestamp in block.timestamps or () if timestamp is not None]


def merge_event_time(states: list[bytes], name: str) -> bytes:
    """Join the states of tasks that read parts of the same splits.

    Args:
        states: What `EventTime.snapshot` gave in each task.
        name: The name of the operator, for messages.

    Raises:
        UnsupportedOperationError: If a user's generator does not say how it is merged.
    """
    found = [loads(state) for state in states]
    merged: dict[Hashable, _Split] = {}
    for splits, _, _ in found:
        for key, split in splits.items():
            merged[key] = _joined(merged[key], split, name) if key in merged else split
    emitted = max(its_emitted for _, its_emitted, _ in found)
    is_idle = all(its_idle for _, _, its_idle in found)
    if merged:
        # No task knew how far the others had come in the splits that they read. What all had emitted stays so,
        # though a split came that is farther behind.
        reached, is_idle = combined(
            ChannelWatermark(split.watermark, split.is_idle) for split in merged.values()
        )
        emitted = max(reached, min(its_emitted for _, its_emitted, _ in found))
    return dumps((merged, emitted, is_idle))


def least_event_time(states: list[bytes]) -> bytes:
    """Choose, of what several tasks knew of a split, that of the one which was least far.

    So whoever reads on, in whatever task, is ahead of none of them.

    Args:
        states: What `EventTime.snapshot` gave in each task.
    """
    found = [loads(state) for state in states]
    splits: dict[Hashable, _Split] = {}
    for of_task, _, _ in found:
        for key, split in of_task.items():
            known = splits.get(key)
            order = (split.is_idle, split.watermark)
            if known is None or order < (known.is_idle, known.watermark):
                splits[key] = split
    emitted = min(emitted for _, emitted, _ in found)
    return dumps((splits, emitted, all(is_idle for _, _, is_idle in found)))


def combined(splits: Iterable[ChannelWatermark]) -> ChannelWatermark:
    """Return how far a source is whose splits are so far; there has to be one."""
    found = list(splits)
    active = [split.timestamp for split in found if not split.is_idle]
    if active:
        return ChannelWatermark(min(active))
    return ChannelWatermark(max(split.timestamp for split in found), is_idle=True)


def _joined(one: _Split, other: _Split, name: str) -> _Split:
    if not other.has_data:
        return one
    if not one.has_data:
        return other
    generator: WatermarkGenerator | None = one.generator
    if one.generator is not None and other.generator is not None:
        try:
            generator = one.generator.merge(other.generator)
        except NotImplementedError as error:
            raise UnsupportedOperationError(
                f"A split of operator {name!r} was read by several tasks, and its generator, "
                f"{type(one.generator).__name__}, does not say how two of them are merged.",
                hint="Define merge(self, other), or set the parallelism of the source to 1.",
            ) from error
    return _Split(
        generator,
        max(one.watermark, other.watermark),
        one.is_idle and other.is_idle,
        has_data=True,
    )
