"""Records of many shapes, and functions of all kinds that change those they had before, if they are told to.

What a function gives out is in one and the same list, then, each time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from tests.semantics.objects.spoiling import Holder, Parcel, ids_in, parts_of, spoil, text

from penstock.common import Row, TimestampAssigner, Types
from penstock.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ProcessWindowFunction,
    RuntimeContext,
    ValueStateDescriptor,
)
from penstock.datastream.window import (
    Evictor,
    SessionWindowTimeGapExtractor,
    Trigger,
    TriggerResult,
)

ANY = Types.PICKLED_BYTE_ARRAY()


def record(number: int, key: str, time: int, numbers: list[int]) -> Any:
    """Return a record; what it is made of depends on its number."""
    content: list[Any] = [number, key, time, numbers]
    named = dict(zip(("number", "key", "time", "numbers"), content, strict=True))
    match number % 6:
        case 0:
            return named
        case 1:
            return Row(**named)
        case 2:
            return content
        case 3:
            return tuple(content)
        case 4:
            return Holder(content)
        case _:
            return Parcel((number, key, time, tuple(numbers)))


def fields(value: Any) -> list[Any]:
    """Return number, key, time and numbers of a record."""
    if isinstance(value, (Holder, Parcel)):
        return list(value.content)
    return parts_of(value)


def records(count: int) -> list[Any]:
    """Records of two keys, out of order, some of them late."""
    chance = random.Random(count)
    return [
        record(place, chance.choice("ab"), place + chance.randrange(-6, 3), [place])
        for place in range(count)
    ]


class Changing:
    """Changes what it saw or gave out before, at each call.

    Args:
        busy: Whether it does.
    """

    def __init__(self, busy: bool) -> None:
        self._busy = busy
        self._seen: list[Any] = []
        self._buffer: list[Any] = []

    def touch(self, *values: Any) -> None:
        """Change what was seen before, but nothing in these values; and remember them."""
        if self._busy:
            new = ids_in(list(values))
            for before in self._seen[-6:]:
                spoil(before, new)
            self._seen += values

    def show(self, *values: Any) -> str:
        """Return all that is in some values."""
        shown = text(list(values))
        self.touch(*values)
        return shown

    def give(self, *values: Any) -> list[Any]:
        """Return values in a list, the same each time."""
        if not self._busy:
            return [*values, list(values)]
        self._buffer[:] = [*values, list(values)]
        self.touch(*self._buffer)
        return self._buffer

    def gives(self, *values: Any) -> Iterator[Any]:
        """Yield values in a list and in others, the same each time."""
        for place in range(2):
            yield self.give(*values, place)
        yield {"in": self.give(*values)}


class Key(Changing):
    """Gives a record's key, or a row of it."""

    def __call__(self, value: Any) -> str:
        found = str(fields(value)[1])
        self.touch(value)
        return found


class Time(Changing, TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        found = int(fields(value)[2])
        self.touch(value)
        return found


class Add(Changing):
    """Adds a record to another; in place, if that can be."""

    def __call__(self, one: Any, other: Any) -> Any:
        first, second = fields(one), fields(other)
        number, numbers = first[0] + second[0], [*first[3], *second[3]]
        if self._busy and isinstance(one, list) and number % 6 == 2:
            one[:] = [number, first[1], max(first[2], second[2]), numbers]
            found: Any = one
        else:
            found = record(number, first[1], max(first[2], second[2]), numbers)
        self.touch(one, other, found)
        return found


class Collect(Changing, AggregateFunction):
    """Gathers the numbers of records; gives out what it gathers them in."""

    def create_accumulator(self) -> Any:
        return {"numbers": []}

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator["numbers"] += fields(value)[3]
        self.touch(value, accumulator)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        self.touch(accumulator)
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        acc_a["numbers"] += acc_b["numbers"]
        self.touch(acc_a, acc_b)
        return acc_a


class Window(Changing, ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        state = context.global_state().get_list_state(ListStateDescriptor("fired", ANY))
        fired = list(state.get())
        state.add([len(fired)])
        yield from self.gives(key, self.show(context.window(), *elements), self.show(*fired))


class Fires(Changing, Trigger[Any, Any]):
    """Fires for some records, and at the end of the window; counts in state."""

    def _count(self, ctx: Any) -> int:
        state = ctx.get_partitioned_state(ValueStateDescriptor("count", ANY))
        count = state.value() or [0]
        count[0] += 1
        state.update(count)
        self.touch(count)
        return int(count[0])

    def on_element(
        self, element: Any, timestamp: int | None, window: Any, ctx: Any
    ) -> TriggerResult:
        found = fields(element)[0] + self._count(ctx)
        self.touch(element)
        if hasattr(window, "end"):
            ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if found % 3 == 0 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(ValueStateDescriptor("count", ANY)).clear()


class Evicts(Changing, Evictor[Any, Any]):
    def _evict(self, elements: list[Any], most: int) -> None:
        self.touch(*(element.value for element in elements))
        if len(elements) > most:
            del elements[0]

    def evict_before(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        self._evict(elements, 3)

    def evict_after(self, elements: list[Any], size: int, window: Any, ctx: Any) -> None:
        self._evict(elements, 2)


class Gap(Changing, SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        found = 2 + int(fields(element)[0]) % 3
        self.touch(element)
        return found


class Distance(Changing):
    def __call__(self, old: Any, new: Any) -> float:
        found = abs(fields(new)[0] - fields(old)[0])
        self.touch(old, new)
        return float(found)


class States(Changing):
    """What keyed functions keep; they show it all, and change what they found."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._value = runtime_context.get_state(ValueStateDescriptor("value", ANY))
        self._list = runtime_context.get_list_state(ListStateDescriptor("list", ANY))
        self._map = runtime_context.get_map_state(MapStateDescriptor("map", ANY, ANY))

    def kept(self, value: Any) -> str:
        """Keep a record, and return what was kept before."""
        found: list[Any] = [
            self._value.value(),
            list(self._list.get()),
            dict(sorted(self._map.items())),
        ]
        shown = text(found)
        self._value.update(value)
        self._list.add(value)
        self._map.put(len(found[1]), value)
        self.touch(value, *found, *found[1], *found[2].values())
        return shown


class Timers(States, KeyedProcessFunction):
    """Keeps records until a timer fires."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(fields(value)[2] + 3)
        yield from self.gives(self.kept(value), self.show(value))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from self.gives(timestamp, ctx.get_current_key(), self.kept([timestamp]))
