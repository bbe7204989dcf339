"""Joins each record of one keyed stream with those of another that are near it in time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from penstock.common.typeinfo.types import Types
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.watermarks.timestamps import timestamps_of
from penstock.runtime.late_records import LateRecords
from penstock.runtime.objects.mutability import given, kept
from penstock.runtime.operator import BatchOrder, TwoInputOperator
from penstock.runtime.operators.collector import Collector
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.state.api import MapState
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.user_code import FAILURES, described_failure, record_text

_SERVICE: Final = "cleanup"
_MOST_KEYS: Final = 1 << 16
_LEFT: Final = "left"
_RIGHT: Final = "right"


class JoinContext:
    """What a join function may ask about a pair of records."""

    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = self.right = 0

    def left_timestamp(self) -> int:
        """Return the timestamp of the left record in milliseconds."""
        return self.left

    def right_timestamp(self) -> int:
        """Return the timestamp of the right record in milliseconds."""
        return self.right

    def timestamp(self) -> int:
        """Return the timestamp that results get, in milliseconds: the later of the two."""
        return max(self.left, self.right)


class _Buffer:
    """The records of one side: of the current key, by their timestamps.

    Which timestamps a key has is kept in order beside the state, for the keys of the running epoch.

    Args:
        records: The records.
        state: Knows the current key.
    """

    def __init__(self, records: MapState[int, Sequence[Any]], state: KeyedStateBackend) -> None:
        self._records = records
        self._state = state
        self._times: dict[Any, list[int]] = {}

    def begin_epoch(self) -> None:
        """Forget what is not in the state: another process may have gone on with it."""
        self._times.clear()

    def add(self, timestamp: int, value: Any) -> None:
        known = self._records.get(timestamp)
        if known is None:
            known = ()
            insort(self._known_times(), timestamp)
        # In a tuple, so that records that nobody can change are kept as they are.
        self._records.put(timestamp, (*known, value))

    def between(self, earliest: int, latest: int) -> Iterator[tuple[int, Any]]:
        """Yield the timestamps and records of an interval, the earliest first."""
        times = self._known_times()
        for timestamp in times[bisect_left(times, earliest) : bisect_right(times, latest)]:
            for value in self._records.get(timestamp) or ():
                yield timestamp, value

    def remove(self, timestamp: int) -> None:
        """Forget the records of a time."""
        times = self._known_times()
        place = bisect_left(times, timestamp)
        if times[place : place + 1] == [timestamp]:
            del times[place]
            self._records.remove(timestamp)

    def clear(self) -> None:
        self._times.pop(self._state.current_key, None)
        self._records.clear()

    def _known_times(self) -> list[int]:
        key = self._state.current_key
        times = self._times.get(key)
        if times is None:
            if len(self._times) >= _MOST_KEYS:
                self._times.clear()
            times = self._times[key] = sorted(self._records.keys())
        return times


class _Side(NamedTuple):
    """One of the two inputs.

    Attributes:
        name: `left` or `right`, the namespace of its cleanup timers.
        buffer: Its records.
        others: The records of the other side.
        lower: How far the earliest partner of a record lies behind it, in milliseconds.
        upper: How far the latest partner lies behind it.
        late_tag: The side output of late records; None to count and drop them.
    """

    name: str
    buffer: _Buffer
    others: _Buffer
    lower: int
    upper: int
    late_tag: str | None

    @property
    def is_left(self) -> bool:
        """Whether it is the first input."""
        return self.name == _LEFT

    @property
    def keep(self) -> int:
        """How long a record may still find partners, in milliseconds."""
        return max(self.upper, 0)


class IntervalJoinOperator(FunctionOperator, TwoInputOperator):
    """Calls the user's function for each pair of records of a key that are near each other in time.

    A right record is a partner if its timestamp is from `lower` to `upper` after that of the left
    record. A record is kept until the watermark says that no partner comes any more. One that is behind
    the watermark is late, and finds none.

    Args:
        function: The user's function.
        lower: The lower bound in milliseconds, which belongs to the interval.
        upper: The upper bound in milliseconds, which belongs to it too.
        late_tags: The side outputs of late records of both sides; None to count and drop them.
    """

    method = "process_element"
    is_stateful = True
    batch_order = BatchOrder.BY_KEY

    def __init__(
        self, function: Any, *, lower: int, upper: int, late_tags: tuple[str | None, str | None]
    ) -> None:
        super().__init__(function)
        self._lower = lower
        self._upper = upper
        self._late_tags = late_tags

    def open(self) -> None:
        assert self.timers is not None
        self._timer_service = self.timers.get_internal_timer_service(_SERVICE, self)
        self._context = JoinContext()
        self._dropped = LateRecords(self.metrics.user)
        lower, upper = self._lower, self._upper
        left, right = (
            _Buffer(self.state.get_state(_descriptor(name)), self.state) for name in (_LEFT, _RIGHT)
        )
        self._sides = {
            _LEFT: _Side(_LEFT, left, right, lower, upper, self._late_tags[0]),
            _RIGHT: _Side(_RIGHT, right, left, -upper, -lower, self._late_tags[1]),
        }
        super().open()

    def begin_epoch(self, epoch: Epoch) -> None:
        self._collector = Collector(self.output)
        for side in self._sides.values():
            side.buffer.begin_epoch()

    def process_block1(self, block: Block) -> None:
        self._process(block, self._sides[_LEFT])

    def process_block2(self, block: Block) -> None:
        self._process(block, self._sides[_RIGHT])

    def _process(self, block: Block, side: _Side) -> None:
        keys = block.keys
        if keys is None:
            raise TypeError(f"{self.name!r} got records without keys.")
        timestamps = timestamps_of(block, None, self.name)
        watermark = self._timer_service.current_watermark
        set_current_key = self.state.set_current_key
        late: list[Any] = []
        late_times: list[int] = []
        for value, key, timestamp in zip(block.values, keys, timestamps, strict=True):
            if timestamp < watermark:
                late.append(value)
                late_times.append(timestamp)
                continue
            set_current_key(key)
            self._keep(value, timestamp, side)
            partners = side.others.between(timestamp + side.lower, timestamp + side.upper)
            held = kept(value)
            for other_timestamp, other in partners:
                one = given(held)
                self._join(one, timestamp, other, other_timestamp, is_left=side.is_left)
        self._collector.flush()
        if side.late_tag is None:
            for value, timestamp in zip(late, late_times, strict=True):
                self._dropped.drop(1, watermark - timestamp)
                self.metrics.user.samples.late(value, watermark - timestamp)
        else:
            self.output.collect_side(side.late_tag, Block(late, list(late_times)))

    def _keep(self, value: Any, timestamp: int, side: _Side) -> None:
        side.buffer.add(timestamp, value)
        until = min(timestamp + side.keep, MAX_TIMESTAMP)
        self._timer_service.register_event_time_timer(side.name, until)

    def _join(
        self, value: Any, timestamp: int, other: Any, other_timestamp: int, *, is_left: bool
    ) -> None:
        context = self._context
        if is_left:
            left, right = value, other
            context.left, context.right = timestamp, other_timestamp
        else:
            left, right = other, value
            context.left, context.right = other_timestamp, timestamp
        try:
            results = self._call(left, right, context)
            if results is not None:
                self._collector.collect(results, max(timestamp, other_timestamp))
        except FAILURES as error:
            key = record_text(self.state.current_key)
            what = f"the records {record_text(left)} and {record_text(right)} of the key {key}"
            raise described_failure(error, self.name, what) from error

    def on_event_time(self, timer: InternalTimer) -> None:
        """Forget records that no partner can come for any more."""
        side = self._sides[timer.namespace]
        if timer.timestamp == MAX_TIMESTAMP:
            side.buffer.clear()
        else:
            side.buffer.remove(timer.timestamp - side.keep)

    def on_processing_time(self, timer: InternalTimer) -> None:
        """Nothing: there are no such timers."""


def _descriptor(name: str) -> MapStateDescriptor:
    return MapStateDescriptor(name, Types.LONG(), Types.LIST(Types.PICKLED_BYTE_ARRAY()))
