"""A consumer group, which others watch for how far a job is."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, wait
from typing import Any, Final

from penstock.runtime.planned.kafka.cancellation import Cancellation
from penstock.runtime.planned.kafka.client import kafka_client
from penstock.runtime.planned.kafka.failures import is_passing
from penstock.runtime.planned.kafka.offsets import KafkaTopicPartition, Offsets

_LOG: Final = logging.getLogger("penstock")
_RETRY_SECONDS: Final = 0.5
_LAST_COMMIT_SECONDS: Final = 5.0
_CANCELLED_COMMIT_SECONDS: Final = 0.3


class ConsumerGroup:
    """A group without members: it has the offsets that it is told.

    A client keeps in mind for minutes who coordinates the group. So after a failure another one asks.

    Args:
        connect: Returns a new AdminClient.
        name: The group's id.
        seconds: How long an answer may take.
        cancellation: Ends what waits for one. Default: nothing does.

    Attributes:
        name: The group's id.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        name: str,
        seconds: float,
        cancellation: Cancellation | None = None,
    ) -> None:
        self._cancellation = cancellation or Cancellation()
        self._connect = connect
        self._admin: Any = None
        self.name = name
        self._seconds = seconds
        self._to_commit: Offsets = {}
        self._under_way: Offsets = {}
        self._answer: Future[Any] = Future()
        self._pause_ends = float("-inf")
        self._failures = 0
        self._has_complained = False

    def committed(self, partitions: Collection[KafkaTopicPartition]) -> Offsets:
        """Return the offsets of those partitions of which it has any.

        Raises:
            KafkaException: If nobody answers, or the user may not see them.
        """
        answers = self._client().list_consumer_group_offsets(
            [self._of_group(dict.fromkeys(partitions))],
            require_stable=True,
            request_timeout=self._seconds,
        )
        client = kafka_client()
        try:
            found = self._cancellation.answer(answers[self.name]).topic_partitions
        except client.KafkaException:
            self._admin = None
            raise
        if failed := [one.error for one in found if one.error is not None]:
            # That of a transaction that is still open is no offset, but there may be one.
            raise client.KafkaException(failed[0])
        return {
            KafkaTopicPartition(one.topic, one.partition): one.offset
            for one in found
            if one.offset >= 0
        }

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Tell it offsets. What fails is in the log, and told again if it may pass."""
        self._to_commit = dict(offsets)
        self.look()

    def look(self) -> None:
        """Hear what came of the last commit, and send the newest offsets if none are under way: none goes back."""
        if self._under_way and self._answer.done():
            self._hear()
        if not self._to_commit or self._under_way or time.monotonic() < self._pause_ends:
            return
        self._under_way, self._to_commit = self._to_commit, {}
        answers = self._client().alter_consumer_group_offsets(
            [self._of_group(self._under_way)], request_timeout=self._seconds
        )
        self._answer = answers[self.name]

    def _client(self) -> Any:
        self._admin = self._admin or self._connect()
        return self._admin

    def _of_group(self, offsets: Mapping[KafkaTopicPartition, int | None]) -> Any:
        client = kafka_client()
        places = [
            client.TopicPartition(one.topic, one.partition, *([] if at is None else [at]))
            for one, at in offsets.items()
        ]
        return client.ConsumerGroupTopicPartitions(self.name, places)

    def _hear(self) -> None:
        sent, self._under_way = self._under_way, {}
        answer, self._answer = self._answer, Future()
        failed = answer.exception()
        if failed is None:
            errors = [
                one.error for one in answer.result().topic_partitions if one.error is not None
            ]
        else:
            errors = [failed.args[0]]
        if not errors:
            self._failures, self._has_complained = 0, False
            return
        self._admin = None
        self._failures += 1
        is_to_pass = any(map(is_passing, errors))
        if is_to_pass:
            # A stream that is silent from now on has no newer ones.
            self._to_commit = self._to_commit or sent
            self._pause_ends = time.monotonic() + _RETRY_SECONDS
        if not self._has_complained and (self._failures > 1 or not is_to_pass):
            self._has_complained = True
            _LOG.warning(
                "the consumer group %s cannot be told how far it has read: %s; the job goes on, as it keeps its "
                "offsets itself",
                self.name,
                errors[0].str(),
            )

    def close(self) -> None:
        """Wait a while for what is to be committed, and let go of the client."""
        begun = time.monotonic()
        while self._under_way or self._to_commit:
            is_hurried = self._cancellation.is_cancelled
            most = _CANCELLED_COMMIT_SECONDS if is_hurried else _LAST_COMMIT_SECONDS
            if time.monotonic() - begun >= most:
                break
            wait([self._answer], timeout=0.1)
            self.look()
        # It ends with its last reference.
        self._admin = None
