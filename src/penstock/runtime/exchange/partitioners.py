"""Which subtasks of the receiving chain get a record."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from operator import not_
from typing import Any, ClassVar

from penstock.common.typeinfo.conversion import conversion_to
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.errors import InvalidArgumentError, InvalidKeyError, PenstockError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.keys.key_groups import SubtaskByKey
from penstock.runtime.keys.list_key import with_lists
from penstock.runtime.objects.harmless import is_harmless
from penstock.runtime.objects.mutability import copied, copied_if_possible
from penstock.runtime.user_code import (
    FAILURES,
    check_complete,
    failing_record,
    function_failure,
    record_text,
)


class StreamPartitioner:
    """Chooses the receiving subtasks of records, a block at a time.

    One instance belongs to one edge of the program; each sending subtask works on a copy of its own,
    made by `setup`.
    """

    ship_strategy: ClassVar[str]
    """What Flink's plan calls this kind of edge."""

    is_broadcast: ClassVar[bool] = False

    calls_functions: ClassVar[bool] = False
    """Whether it calls functions of the user, which may change the records."""

    def setup(
        self, *, operator: str, subtask: int, parallelism: int, targets: int, max_parallelism: int
    ) -> StreamPartitioner:
        """Return a partitioner for one sending subtask.

        Args:
            operator: The name of the sending operator, for messages.
            subtask: The index of the sending subtask.
            parallelism: The number of sending subtasks.
            targets: The number of receiving subtasks.
            max_parallelism: The number of key groups of the receiver.
        """
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._operator = operator
        copy._subtask = subtask
        copy._parallelism = parallelism
        copy._targets = targets
        copy._max_parallelism = max_parallelism
        copy._prepare()
        return copy

    _operator: str
    _subtask: int
    _parallelism: int
    _targets: int
    _max_parallelism: int

    def _prepare(self) -> None:
        """Do what has to be done once per sending subtask."""

    def begin_epoch(self) -> None:
        """Make choices as if no epoch had been before, so that they repeat where one is run again."""

    def split(self, block: Block) -> Iterator[tuple[int, Block]]:
        """Yield each receiving subtask with what it gets of the block, as its values are now."""
        return self._split(block.settled())

    def _split(self, block: Block) -> Iterator[tuple[int, Block]]:
        """Do the same for values that nobody else can change."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.ship_strategy


class ForwardPartitioner(StreamPartitioner):
    """Every record goes to the subtask of the sender's own index."""

    ship_strategy = "FORWARD"

    def _split(self, block: Block) -> Iterator[tuple[int, Block]]:
        yield self._subtask % self._targets, block


class GlobalPartitioner(StreamPartitioner):
    """Every record goes to the first subtask."""

    ship_strategy = "GLOBAL"

    def _split(self, block: Block) -> Iterator[tuple[int, Block]]:
        yield 0, block


class BroadcastPartitioner(StreamPartitioner):
    """Every record goes to all subtasks."""

    ship_strategy = "BROADCAST"
    is_broadcast = True

    def _split(self, block: Block) -> Iterator[tuple[int, Block]]:
        for target in range(self._targets):
            yield target, block


class RebalancePartitioner(StreamPartitioner):
    """Records go to all subtasks in turn."""

    ship_strategy = "REBALANCE"

    def _prepare(self) -> None:
        # Senders begin at different places, so that short streams are spread too.
        self._next = self._subtask % self._targets

    def _split(self, block: Block) -> Iterator[tuple[int, Block]]:
        yield from self._deal(block, 0, self._targets)

    def _deal(self, block: Block, first: int, count: int) -> Iterator[tuple[int, Block]]:
        start = self._next
        values, timestamps = block.values, block.timestamps
        for offset in range(min(count, len(values))):
            yield (
                first + (start + offset) % count,
                Block(
                    values[offset::count],
                    None if timestamps is None else timestamps[offset::count],
                ),
            )
        self._next = (start + len(values)) % count


class RescalePartitioner(RebalancePartitioner):
    """Records go in turn to those subtasks that lie beside the sender's own index."""

    ship_strategy = "RESCALE"

    def _prepare(self) -> None:
        self._first = self._subtask * self._targets // self._parallelism
        end = (self._subtask + 1) * self._targets // self._parallelism
        self._count = max(end - self._first, 1)
        self._next = 0

    def _split(self, block: Block) -> Iterator[tuple[int, Block]]:
        yield from self._deal(block, self._first, self._count)


class _PickingPartitioner(StreamPartitioner):
    """Base of those that choose one subtask for each record."""

    def _pick(self, block: Block, targets: list[int]) -> Iterator[tuple[int, Block]]:
        if self._targets == 2:
            yield from _in_two(block, targets)
            return
        # One sort, however many targets there are; it keeps the order of records with the same one.
        by_target = block.reordered(sorted(range(len(targets)), key=targets.__getitem__))
        counts = Counter(targets)
        start = 0
        for target in sorted(counts):
            end = start + counts[target]
            yield target, by_target.part(start, end)
            start = end


def _in_two(block: Block, targets: list[int]) -> Iterator[tuple[int, Block]]:
    """Cut a block for two subtasks: their numbers, 0 and 1, are what selects the records of each."""
    for target, mask in ((0, list(map(not_, targets))), (1, targets)):
        part = block.chosen(mask)
        if len(part):
            yield target, part


class ShufflePartitioner(_PickingPartitioner):
    """Every record goes to a random subtask; the choices repeat when an epoch is run again."""

    ship_strategy = "SHUFFLE"

    def begin_epoch(self) -> None:
        self._random = random.Random(self._subtask)

    def _prepare(self) -> None:
        self.begin_epoch()

    def _split(self, block: Block) -> Iterator[tuple[int, Block]]:
        yield from self._pick(block, self._random.choices(range(self._targets), k=len(block)))


class KeyGroupStreamPartitioner(_PickingPartitioner):
    """Every record goes to the subtask that owns its key's key group.

    Args:
        key_selector: Computes the key of a value.
        key_type: The declared type of the keys; None for any. A key that could be converted to it stays as it is:
            state is found that was kept for it before the type was declared.
    """

    ship_strategy = "HASH"
    calls_functions = True

    def __init__(
        self, key_selector: Callable[[Any], Any], key_type: TypeInformation | None = None
    ) -> None:
        self._key_selector = key_selector
        self.key_type = key_type

    @property
    def key_selector(self) -> Callable[[Any], Any]:
        """What computes the key of a value."""
        return self._key_selector

    def _prepare(self) -> None:
        self._type = conversion_to(self.key_type, f"A key behind operator {self._operator!r}")
        self._subtask_by_key = SubtaskByKey(self._targets, self._max_parallelism)

    def split(self, block: Block) -> Iterator[tuple[int, Block]]:
        known = self._subtask_by_key
        if not known.met_mutable:
            keys = self._keys_of(block)
            if keys is not None:
                keyed, targets = self._addressed(block.settled().with_keys(keys))
                if not known.met_mutable:
                    return self._dealt(keyed, targets)
        return self._split(self._copied_with_keys(block.settled()))

    def _split(self, block: Block) -> Iterator[tuple[int, Block]]:
        return self._dealt(*self._addressed(block))

    def _dealt(self, keyed: Block, targets: list[int]) -> Iterator[tuple[int, Block]]:
        return iter([(0, keyed)]) if self._targets == 1 else self._pick(keyed, targets)

    def _keys_of(self, block: Block) -> list[Any] | None:
        """Return the keys of records; None if a function has to be called that could change them later."""
        of_block = getattr(self._key_selector, "of_block", None)
        found: list[Any] | None = None if of_block is None else of_block(block)
        if found is not None:
            return found
        can_wait = block.is_known_immutable or (
            block.is_harmless and is_harmless(self._key_selector)
        )
        if not can_wait and not block.is_immutable:
            return None
        values = iter(block.values)
        try:
            keys = list(map(self._key_selector, values))
            check_complete(keys, block)
        except FAILURES as error:
            raise self._failure(error, block, values) from error
        return keys

    def _copied_with_keys(self, block: Block) -> Block:
        """Return records that nobody else has with their keys, all as they are after the function's call."""
        values, keys = [], []
        rest = iter(block.values)
        try:
            for value in rest:
                keys.append(copied(self._key_selector(value)))
                values.append(copied_if_possible(value))
        except FAILURES as error:
            raise self._failure(error, block, rest) from error
        return Block(values, block.timestamps, keys)

    def _failure(self, error: BaseException, block: Block, rest: Iterator[Any]) -> Exception:
        part = "The key selector behind operator"
        return function_failure(error, self._operator, failing_record(block, rest), part=part)

    def _addressed(self, keyed: Block) -> tuple[Block, list[int]]:
        """Return records, with keys that can be such, and the subtasks that they go to."""
        if self._type is not None:
            self._type.all(keyed.keys or [])
        try:
            return keyed, self._targets_of(keyed)
        except InvalidKeyError:
            assert keyed.keys is not None
            keys = list(map(with_lists, keyed.keys))
            if all(new is old for new, old in zip(keys, keyed.keys, strict=True)):
                raise
            # Whoever made a list may change it before the next call.
            self._subtask_by_key.met_mutable = True
            keyed = keyed.with_keys(keys)
            return keyed, self._targets_of(keyed)

    def _targets_of(self, keyed: Block) -> list[int]:
        assert keyed.keys is not None
        rest = iter(keyed.keys)
        self._subtask_by_key.prepare(keyed.keys)
        try:
            return list(map(self._subtask_by_key.__getitem__, rest))
        except (PenstockError, TypeError) as error:
            raise _invalid_key(error, self._operator, failing_record(keyed, rest)) from error


class SentKeyPartitioner(KeyGroupStreamPartitioner):
    """Every record goes to the subtask that owns the key which it comes with."""

    calls_functions = False

    def split(self, block: Block) -> Iterator[tuple[int, Block]]:
        return self._split(block.settled())


def _invalid_key(error: Exception, operator: str, record: str | None) -> InvalidKeyError:
    what = error.message if isinstance(error, PenstockError) else f"{error}."
    hint = error.hint if isinstance(error, PenstockError) else None
    return InvalidKeyError(
        f"{what}\nOperator {operator!r} computed it as the key of the record {record}.",
        hint=hint
        or "A key must be hashable: a frozenset in place of a set, @dataclass(frozen=True) in place of @dataclass.",
    )


class CustomPartitioner(_PickingPartitioner):
    """Every record goes where the user's partitioner says.

    Args:
        partition: Takes a key and the number of subtasks, returns the index of one.
        key_selector: Computes the key of a value.
    """

    ship_strategy = "CUSTOM"
    calls_functions = True

    def __init__(
        self, partition: Callable[[Any, int], int], key_selector: Callable[[Any], Any]
    ) -> None:
        self._partition = partition
        self._key_selector = key_selector

    def split(self, block: Block) -> Iterator[tuple[int, Block]]:
        partition, key_selector, count = self._partition, self._key_selector, self._targets
        values: list[Any] = []
        targets: list[int] = []
        block = block.settled()
        is_immutable = block.is_immutable
        rest = iter(block.values)
        try:
            for value in rest:
                targets.append(partition(key_selector(value), count))
                values.append(value if is_immutable else copied_if_possible(value))
        except FAILURES as error:
            record = failing_record(block, rest)
            part = "The partitioner or key selector behind operator"
            raise function_failure(error, self._operator, record, part=part) from error
        self._check(targets, values)
        return self._pick(Block(values, block.timestamps), targets)

    def _check(self, targets: list[int], values: list[Any]) -> None:
        count = self._targets
        for target, value in zip(targets, values, strict=True):
            if type(target) is not int or not 0 <= target < count:
                raise InvalidArgumentError(
                    f"The partitioner after operator {self._operator!r} returned {target!r} for the "
                    f"record {record_text(value)}, which is no subtask of {count}.",
                    hint=f"Return an int from 0 to {count - 1}.",
                )
