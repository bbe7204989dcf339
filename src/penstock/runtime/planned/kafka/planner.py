"""Plans what each epoch reads of the partitions of topics."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Set
from typing import Any, Final, NamedTuple

from penstock.errors import (
    KafkaNotReachableError,
    KafkaOffsetNotFoundError,
    KafkaTopicNotFoundError,
)
from penstock.runtime.planned.kafka.broker import Broker
from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
    listed,
)
from penstock.runtime.planned.kafka.reading import Reading
from penstock.runtime.planned.planned_source import Piece, Plan, Planner

_LOG: Final = logging.getLogger("penstock")
_RETRY_SECONDS: Final = 0.5
_ANEW: Final = (
    "To begin anew, give the source another uid() and set execution.state-recovery.ignore-unclaimed-state to true, or "
    "start from another checkpoint location. A job that begins so should name an offset that is there."
)


class Range(NamedTuple):
    """What is read of a partition.

    Attributes:
        topic: The topic.
        partition: The partition's number.
        begin: The offset of the first record.
        end: The offset behind the last one.
    """

    topic: str
    partition: int
    begin: int
    end: int


class Place(NamedTuple):
    """How far a partition is read.

    Attributes:
        next: The offset that comes next.
        stop: Where its reading ends; None for nowhere.
        topic_id: The id of the topic that it belongs to; None if that is not known.
    """

    next: int
    stop: int | None
    topic_id: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to read."""
        return self.stop is not None and self.next >= self.stop


class KafkaPlanner(Planner):
    """Plans to read what has come to each partition, from offset to offset.

    The state is a list of topic, partition, next offset, the offset where reading ends, and the topic's id, which tells
    a topic from an earlier one of its name; states of earlier versions have no id. Partitions that are not there just
    now are kept in it, and those that the program does not read just now. It is empty where a pattern has matched no
    topic yet.

    Args:
        reading: What is read.
        connect: Returns the broker.
        release: Called when nothing is planned any more.
        clock: The time, in seconds.
        rest: Waits for some seconds. Default: until the job is cancelled, if that comes before.
        cancellation: Ends what waits for the broker. Default: one of its own.
    """

    def __init__(
        self,
        reading: Reading,
        connect: Callable[[], Broker],
        release: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> None:
        self._reading = reading
        self._connect = connect
        self._release = release
        self._clock = clock
        self._cancellation = cancellation or Cancellation()
        self._rest = rest or self._cancellation.rest
        self._broker: Broker | None = None
        self._subscribed: set[KafkaTopicPartition] | None = None
        self._later_stops: dict[KafkaTopicPartition, int | None] = {}
        self._ids: Mapping[str, str] = {}
        self._next_look = float("-inf")
        self._is_away = False
        self._committed: Any = None
        self._only_present = False
        self._present: dict[KafkaTopicPartition, int] = {}

    def only_present(self) -> None:
        self._only_present = True

    def plan(self, state: Any, parallelism: int) -> Plan:
        if self._broker is None:
            self._broker = self._connect()
        self._broker.look()
        begins = self._subscribed is None
        is_needed = begins or self._only_present
        try:
            plan = (self._sure_plan if is_needed else self._plan)(state, self._broker)
        except KafkaNotReachableError as error:
            if is_needed:
                raise
            self._note_away(error)
            return Plan(state=state)
        if self._is_away:
            self._is_away = False
            _LOG.warning("Kafka answers again, and reading goes on")
        if begins:
            self.committed(state)
        return plan

    def _note_away(self, error: KafkaNotReachableError) -> None:
        if not self._is_away:
            _LOG.warning("reading waits until it can go on: %s", error.message)
        self._is_away = True

    def _sure_plan(self, state: Any, broker: Broker) -> Plan:
        """Return a plan, also if Kafka has to be waited for."""
        end = self._clock() + self._reading.patience
        while True:
            try:
                return self._plan(state, broker)
            except KafkaNotReachableError as error:
                if self._clock() >= end:
                    raise
                self._note_away(error)
                self._rest(_RETRY_SECONDS)

    def _plan(self, state: Any, broker: Broker) -> Plan:
        known = {
            KafkaTopicPartition(topic, partition): Place(*place)
            for topic, partition, *place in state or ()
        }
        has_looked = self._discover(broker, known.keys())
        subscribed = self._subscribed or set()
        known = self._without_renewed(known)
        places = {one: place for one, place in known.items() if one in subscribed}
        places = self._with_stops(places, broker)
        new = subscribed - known.keys()
        places |= self._places_of_new(new, broker, is_first=state is None)
        try:
            ranges = self._ranges(places, new, broker)
        except (KafkaTopicNotFoundError, KafkaOffsetNotFoundError) as error:
            self._next_look = float("-inf")
            is_known = has_looked and isinstance(error, KafkaOffsetNotFoundError)
            is_named = self._reading.subscription.pattern is None
            if is_named or is_known or self._only_present:
                raise
            return Plan(state=state)
        for one, found in ranges.items():
            topic_id = self._ids.get(one.topic, places[one].topic_id)
            places[one] = places[one]._replace(next=found.end, topic_id=topic_id)
        pieces = [
            Piece(found, str(one))
            for one, found in ranges.items()
            if one in new or found.end > known[one].next
        ]
        pieces.sort(key=lambda piece: piece.content.begin - piece.content.end)
        is_over = self._reading.stopping is not None and all(
            place.is_over for place in places.values()
        )
        after = [[*_names(one), *place] for one, place in sorted((known | places).items())]
        return Plan(tuple(pieces), after if pieces or state is None else state, is_over)

    def _with_stops(
        self, places: Mapping[KafkaTopicPartition, Place], broker: Broker
    ) -> dict[KafkaTopicPartition, Place]:
        """Return the places with the end that the program has now: when they were committed it may have had none."""
        stopping = self._reading.stopping
        if stopping is None:
            return {one: place._replace(stop=None) for one, place in places.items()}
        endless = {one for one, place in places.items() if place.stop is None}
        if asked := endless - self._later_stops.keys():
            stops = _stops(stopping, asked, broker)
            self._later_stops |= {one: stops.get(one) for one in asked}
        ends = {one: places[one]._replace(stop=self._later_stops[one]) for one in endless}
        return {**places, **ends}

    def _discover(self, broker: Broker, known: Set[KafkaTopicPartition]) -> bool:
        """Look for partitions, if it is time to: for those of the subscription, and those to be read on."""
        if self._clock() < self._next_look:
            return False
        there = broker.partitions()
        found = self._reading.subscription.among(there)
        if self._reading.keeps_restored:
            found |= {one for one in known if one.partition in there.get(one.topic, ())}
        self._ids = broker.ids({one.topic for one in found})
        if self._subscribed is None:
            if left := known - found:
                _LOG.warning(
                    "partitions are not read, and their offsets kept until they are read again: %s",
                    listed(left),
                )
        else:
            came, gone = found - self._subscribed, self._subscribed - found
            if new := came.difference(known):
                _LOG.info("new partitions are read: %s", listed(new))
            if back := came.intersection(known):
                _LOG.info("partitions are there again: %s", listed(back))
            if gone:
                _LOG.warning(
                    "partitions are gone, and not read until they are back: %s", listed(gone)
                )
        self._subscribed = found
        interval = None if self._only_present else self._reading.discovery
        self._next_look = float("inf") if interval is None else self._clock() + interval / 1000
        return True

    def _without_renewed(
        self, known: Mapping[KafkaTopicPartition, Place]
    ) -> dict[KafkaTopicPartition, Place]:
        """Return the places but those in topics of a pattern that were made anew, which are read from their beginning.

        Raises:
            KafkaOffsetNotFoundError: If a topic was made anew that was named.
        """
        renewed = {
            one: place
            for one, place in known.items()
            if place.topic_id is not None
            and self._ids.get(one.topic, place.topic_id) != place.topic_id
        }
        if renewed and self._reading.subscription.pattern is None:
            one, place = min(renewed.items())
            raise KafkaOffsetNotFoundError(
                f"{one} is to be read from offset {place.next}, but topic {one.topic} was deleted and made anew: of the "
                "topic that had this offset nothing is left.",
                hint=_ANEW,
            )
        if renewed:
            topics = ", ".join(sorted({one.topic for one in renewed}))
            _LOG.warning("topics were made anew, and are read from their beginning: %s", topics)
        return {one: place for one, place in known.items() if one not in renewed}

    def _places_of_new(
        self, new: Collection[KafkaTopicPartition], broker: Broker, *, is_first: bool
    ) -> dict[KafkaTopicPartition, Place]:
        """Return where new partitions are read from, and to."""
        reading = self._reading
        earliest = KafkaOffsetsInitializer.earliest()
        starts = (reading.starting if is_first else earliest).resolved(new, broker)
        stops: dict[KafkaTopicPartition, int] = {}
        if reading.stopping is not None:
            stops = _stops(reading.stopping, new, broker)
        return {one: Place(start, stops.get(one)) for one, start in starts.items()}

    def _ranges(
        self,
        places: Mapping[KafkaTopicPartition, Place],
        new: Collection[KafkaTopicPartition],
        broker: Broker,
    ) -> dict[KafkaTopicPartition, Range]:
        """Return what of each partition comes next.

        Args:
            places: How far each is read.
            new: Those that are read for the first time.
            broker: What knows where they begin and end.
        """
        there = broker.latest([one for one, place in places.items() if not place.is_over])
        ends = {
            one: end if (stop := places[one].stop) is None else min(end, stop)
            for one, end in there.items()
        }
        if self._only_present:
            self._present = {**ends, **self._present}
            ends = {one: min(end, self._present[one]) for one, end in ends.items()}
        behind = [one for one, end in ends.items() if end != places[one].next]
        firsts = broker.earliest(behind)
        begins = {one: places[one].next for one in ends}
        # What a transaction that is open holds up is there: it is waited for.
        written = there | broker.written([one for one in behind if begins[one] > there[one]])
        for one in behind:
            if not firsts[one] <= begins[one] <= written[one]:
                begins[one] = self._offset_instead_of(
                    one, begins[one], firsts[one], there[one], is_new=one in new
                )
        left = {one: max(end - begins[one], 0) for one, end in ends.items()}
        shares = shared(left, self._reading.most)
        return {
            one: Range(*_names(one), begin, begin + shares[one]) for one, begin in begins.items()
        } | {
            one: Range(*_names(one), place.next, place.next)
            for one, place in places.items()
            if place.is_over
        }

    def _offset_instead_of(
        self, one: KafkaTopicPartition, wanted: int, first: int, end: int, *, is_new: bool
    ) -> int:
        """Return where to go on in a partition that has not got what was to be read next.

        Raises:
            KafkaOffsetNotFoundError: If nothing says what to do then.
        """
        if wanted > end and not is_new:
            raise KafkaOffsetNotFoundError(
                f"{one} is to be read from offset {wanted}, but ends at {end}: its topic was deleted and made anew, "
                "or has lost records.",
                hint=_ANEW,
            )
        match self._reading.starting.reset:
            case KafkaOffsetResetStrategy.EARLIEST:
                found = first
            case KafkaOffsetResetStrategy.LATEST:
                found = end
            case _:
                raise KafkaOffsetNotFoundError(
                    f"{one} is to be read from offset {wanted}, but has {first} to {end}: Kafka has deleted the "
                    "records before, as its retention says, or there never was such an offset.",
                    hint="Let the topic keep records for as long as the job may stand still. To go on with what is "
                    "there, let the starting offsets have KafkaOffsetResetStrategy.EARLIEST.",
                )
        if is_new:
            _LOG.warning("%s has no offset %d; reading begins at %d", one, wanted, found)
        else:
            _LOG.warning(
                "%s: offsets %d to %d are lost, as Kafka has deleted them before they were read; reading goes on at %d",
                one,
                wanted,
                found - 1,
                found,
            )
        return found

    def committed(self, state: Any) -> None:
        if not self._reading.commits or self._broker is None or state == self._committed:
            return
        self._committed = state
        subscribed = self._subscribed or ()
        self._broker.commit(
            {
                one: offset
                for topic, partition, offset, *_ in state or ()
                if (one := KafkaTopicPartition(topic, partition)) in subscribed
            }
        )

    def cancel(self) -> None:
        self._cancellation.cancel()

    def close(self) -> None:
        broker, self._broker = self._broker, None
        try:
            if broker is not None:
                broker.close()
        finally:
            self._release()


def shared(
    left: Mapping[KafkaTopicPartition, int], most: int | None
) -> dict[KafkaTopicPartition, int]:
    """Return how much of what is left of each partition is read: those with little are not kept waiting.

    Args:
        left: How many offsets are left.
        most: How many may be read in all; None for any number. At least one of a partition is.
    """
    if most is None or sum(left.values()) <= most:
        return dict(left)
    shares = {}
    rest = most
    for done, one in enumerate(sorted(left, key=lambda one: (left[one], one))):
        share = min(left[one], max(rest // (len(left) - done), 1))
        shares[one] = share
        rest -= share
    return shares


def _stops(
    stopping: KafkaOffsetsInitializer, partitions: Collection[KafkaTopicPartition], broker: Broker
) -> dict[KafkaTopicPartition, int]:
    """Return where reading ends; what is not committed yet, no end at a time waits for."""
    found = stopping.resolved(partitions, broker)
    if stopping.kind != "timestamp":
        return found
    there = broker.latest(partitions)
    return {one: min(offset, there[one]) for one, offset in found.items()}


def _names(one: KafkaTopicPartition) -> tuple[str, int]:
    return one.topic, one.partition
