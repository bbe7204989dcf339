"""A sink that writes documents into Elasticsearch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.elasticsearch.bulk import BulkClient, Cluster, FlushBackoffType
from penstock.datastream.connectors.elasticsearch.emitter import Action, ElasticsearchEmitter
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.errors import InvalidArgumentError, SinkRowError
from penstock.runtime.sinks import CommitContext, Committer, SinkWriter, WriterContext

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
]

_MEGABYTE: Final = 1 << 20


@dataclass(frozen=True)
class Limits:
    """When documents are sent before their epoch ends; -1 for never."""

    actions: int = 1000
    megabytes: int = -1
    milliseconds: int = -1


class DocumentsWriter(SinkWriter):
    """Sends the documents of one subtask.

    Args:
        sink: The sink.
        context: Tells the time.
    """

    def __init__(self, sink: ElasticsearchSink, context: WriterContext) -> None:
        self._sink = sink
        self._context = context
        self._client = BulkClient(sink.cluster)
        self._actions: list[Action] = []
        self._size = 0
        self._sent_at = context.current_processing_time()

    def write(self, value: Any, timestamp: int | None) -> None:
        """Take a record, and send what waits if it is enough."""
        try:
            action = self._sink.emitter.action(value, self._sink.default_type)
        except (LookupError, TypeError, ValueError) as error:
            why = f"there is no field {error}" if isinstance(error, KeyError) else error
            raise SinkRowError(
                f"{self._context.name!r} cannot make a document of {value!r}: {why}.",
                hint="Give dicts, or rows with names, of values that JSON has, and with the fields that the "
                "emitter names.",
            ) from error
        self._actions.append(action)
        self._size += len(action.lines)
        if self._is_enough():
            self._send()

    def _is_enough(self) -> bool:
        limits = self._sink.limits
        if 0 < limits.actions <= len(self._actions):
            return True
        if 0 < limits.megabytes * _MEGABYTE <= self._size:
            return True
        if limits.milliseconds < 0:
            return False
        return self._context.current_processing_time() - self._sent_at >= limits.milliseconds

    def _send(self) -> None:
        actions, self._actions, self._size = self._actions, [], 0
        self._client.send(actions)
        self._sent_at = self._context.current_processing_time()

    def prepare_commit(self) -> list[Any]:
        """Send what is left: when the epoch is committed, all of it is in Elasticsearch."""
        if self._actions:
            self._send()
        return []

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class _NothingToCommit(Committer):
    def commit(self, committables: list[Any], context: CommitContext) -> None:
        """Do nothing: the writers have."""


@dataclass(frozen=True, eq=False)
class ElasticsearchSink(TwoPhaseCommitSink):
    """Writes documents into indices of Elasticsearch, from 6 on, by its bulk requests.

    At least once: workers send documents while an epoch runs, and an epoch is not committed before
    Elasticsearch has taken all of its documents. One that is run again sends them again: with a
    key field the same documents are there afterwards, without one more of each. That is so for
    `DeliveryGuarantee.NONE` as well, with which Flink may lose documents.
    `tests/datastream/connectors/elasticsearch/test_sink.py` proves it, with a server that does what
    Elasticsearch's documentation says; it was not tried with Elasticsearch itself.

    A document that is refused ends the job, and the error names it with the reason.

    Made by `Elasticsearch7SinkBuilder` or `Elasticsearch6SinkBuilder`.

    Example:
        >>> sink = (
        ...     Elasticsearch7SinkBuilder()
        ...     .set_hosts(["localhost:9200"])
        ...     .set_emitter(ElasticsearchEmitter.static_index("orders", "id"))
        ...     .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        ...     .set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 8, 100)
        ...     .build()
        ... )
        >>> sink.place
        'localhost:9200 orders'
    """

    cluster: Cluster
    emitter: ElasticsearchEmitter
    limits: Limits
    default_type: str | None

    @property
    def place(self) -> str:
        """See `TwoPhaseCommitSink.place`."""
        return f"{','.join(self.cluster.hosts)} {self.emitter.index}"

    def create_writer(self, context: WriterContext) -> DocumentsWriter:
        """See `TwoPhaseCommitSink.create_writer`."""
        return DocumentsWriter(self, context)

    def create_committer(self) -> Committer:
        """See `TwoPhaseCommitSink.create_committer`."""
        return _NothingToCommit()


class ElasticsearchSinkBuilderBase(ABC):
    """What the builders for all versions have in common."""

    def __init__(self) -> None:
        self._cluster = Cluster(())
        self._limits = Limits()
        self._emitter: ElasticsearchEmitter | None = None

    @property
    @abstractmethod
    def _default_type(self) -> str | None:
        """The type of documents if the emitter names none."""

    def set_emitter(self, emitter: ElasticsearchEmitter) -> Self:
        """Set what makes documents of records.

        Args:
            emitter: The emitter.

        Raises:
            InvalidArgumentError: If it is none.
        """
        if not isinstance(emitter, ElasticsearchEmitter):
            raise InvalidArgumentError(
                f"{emitter!r} is no emitter.",
                hint="Give ElasticsearchEmitter.static_index('orders', 'id').",
            )
        self._emitter = emitter
        return self

    def set_hosts(self, hosts: str | list[str]) -> Self:
        """Set where the cluster is.

        Args:
            hosts: One or several as "host:9200" or "https://host:9200". Each worker asks the first, and
                the next if it cannot be reached.

        Raises:
            InvalidArgumentError: If one of them cannot be read, or has a user in it.
        """
        several = tuple([hosts] if isinstance(hosts, str) else hosts)
        self._cluster = replace(self._cluster, hosts=several)
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Set what is promised, see `ElasticsearchSink`: it is the same for both.

        Args:
            delivery_guarantee: `AT_LEAST_ONCE` or `NONE`. Default: `NONE`.

        Raises:
            InvalidArgumentError: If it is `EXACTLY_ONCE`, which Elasticsearch has no transactions for.
        """
        if delivery_guarantee not in {DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE}:
            raise InvalidArgumentError(
                f"Elasticsearch does not promise {delivery_guarantee!r}.",
                hint="With AT_LEAST_ONCE and a key field each record is there once, however often it is sent.",
            )
        return self

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> Self:
        """Set with how many documents a request is sent before its epoch ends.

        Args:
            num_max_actions: The number; -1 for no limit. Default: 1000.

        Raises:
            InvalidArgumentError: If it is 0, or below -1.
        """
        self._limits = replace(self._limits, actions=_limit(num_max_actions, 1))
        return self

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> Self:
        """Set with how many mebibytes of documents a request is sent before its epoch ends.

        Args:
            max_size_mb: The size; -1 for no limit. Default: -1.

        Raises:
            InvalidArgumentError: If it is 0, or below -1.
        """
        self._limits = replace(self._limits, megabytes=_limit(max_size_mb, 1))
        return self

    def set_bulk_flush_interval(self, interval_millis: int) -> Self:
        """Set after which time a request is sent before its epoch ends.

        It is looked at when a document comes; all are sent when the epoch ends.

        Args:
            interval_millis: Milliseconds; -1 for never. Default: -1.

        Raises:
            InvalidArgumentError: If it is below -1.
        """
        self._limits = replace(self._limits, milliseconds=_limit(interval_millis, 0))
        return self

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> Self:
        """Set how often, and when, documents are sent again.

        That is done with those that Elasticsearch was too busy for, and with all of a request if it could
        not be reached. Default: not at all.

        Args:
            flush_backoff_type: How the time between them grows.
            max_retries: How often they are sent again.
            delay_millis: The first time to wait, in milliseconds.

        Raises:
            InvalidArgumentError: If a number is below 0.
        """
        if not isinstance(flush_backoff_type, FlushBackoffType):
            raise InvalidArgumentError(
                f"{flush_backoff_type!r} is no way to wait.", hint="Give a FlushBackoffType."
            )
        self._cluster = replace(
            self._cluster,
            backoff=flush_backoff_type,
            max_retries=_count(max_retries),
            delay=_count(delay_millis),
        )
        return self

    def set_connection_username(self, username: str) -> Self:
        """Set the name of the user.

        Args:
            username: The name.
        """
        self._cluster = replace(self._cluster, username=username)
        return self

    def set_connection_password(self, password: str) -> Self:
        """Set the password.

        Args:
            password: The password.
        """
        self._cluster = replace(self._cluster, password=password)
        return self

    def set_connection_path_prefix(self, prefix: str) -> Self:
        """Set what stands before the path of each request.

        Args:
            prefix: The prefix, as "search" for http://host/search/_bulk.
        """
        self._cluster = replace(self._cluster, path_prefix=prefix)
        return self

    def set_connection_request_timeout(self, timeout: int) -> Self:
        """Set how long Flink waits for a connection of its pool; here each writer has its own.

        Args:
            timeout: Milliseconds.
        """
        _limit(timeout, 0)
        return self

    def set_connection_timeout(self, timeout: int) -> Self:
        """Set how long a connection may take to be made.

        Args:
            timeout: Milliseconds; -1 or 0 for as long as it takes, which is the default.
        """
        self._cluster = replace(self._cluster, connection_timeout=max(_limit(timeout, 0), 0))
        return self

    def set_socket_timeout(self, timeout: int) -> Self:
        """Set how long an answer may let wait.

        Args:
            timeout: Milliseconds; -1 or 0 for as long as it takes, which is the default.
        """
        self._cluster = replace(self._cluster, socket_timeout=max(_limit(timeout, 0), 0))
        return self

    def build(self) -> ElasticsearchSink:
        """Return the sink.

        Raises:
            InvalidArgumentError: If there are no hosts, or there is no emitter.
        """
        if not self._cluster.hosts or self._emitter is None:
            raise InvalidArgumentError(
                f"{type(self).__name__} has no {'emitter' if self._cluster.hosts else 'hosts'}.",
                hint="Call set_hosts and set_emitter before build.",
            )
        return ElasticsearchSink(self._cluster, self._emitter, self._limits, self._default_type)


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """Makes an `ElasticsearchSink` for Elasticsearch 6, whose documents have types."""

    _default_type = "_doc"


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """Makes an `ElasticsearchSink` for Elasticsearch from 7 on."""

    _default_type = None


def _limit(number: int, least: int) -> int:
    if not isinstance(number, int) or not (number == -1 or number >= least):
        raise InvalidArgumentError(f"{number!r} is no limit.", hint=f"Give {least} or more, or -1.")
    return number


def _count(number: int) -> int:
    if not isinstance(number, int) or number < 0:
        raise InvalidArgumentError(f"{number!r} is below 0.", hint="Give 0 or more.")
    return number
