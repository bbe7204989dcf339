"""How the records of a stream go to the subtasks of the next operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from penstock.datastream.function_checks import check_function, plain_callable
from penstock.datastream.functions import KeySelector, Partitioner
from penstock.runtime.partitioners import (
    BroadcastPartitioner,
    CustomPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
    StreamPartitioner,
)

if TYPE_CHECKING:
    from penstock.datastream.broadcast_stream import BroadcastStream
    from penstock.datastream.stream import DataStream
    from penstock.runtime.state.descriptors import MapStateDescriptor


class Partitioning(ABC):
    """The ways in which the records of a stream go to the subtasks of the next operator.

    If none is chosen, records are forwarded where both operators have the same parallelism, and
    rebalanced elsewhere.
    """

    @abstractmethod
    def _partitioned(self, partitioner: StreamPartitioner, method: str) -> DataStream:
        """Return the same stream, partitioned."""

    def shuffle(self) -> DataStream:
        """Send each record to a random subtask.

        Returns:
            The stream, partitioned.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key.
        """
        return self._partitioned(ShufflePartitioner(), "shuffle")

    def rescale(self) -> DataStream:
        """Send records in turn to those subtasks that lie beside the sender's own index.

        With 2 senders and 4 receivers each sender serves 2 of them; with 4 and 2, each receiver has
        2 senders.

        Returns:
            The stream, partitioned.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key.
        """
        return self._partitioned(RescalePartitioner(), "rescale")

    def rebalance(self) -> DataStream:
        """Send records to all subtasks in turn.

        Returns:
            The stream, partitioned.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment(parallelism=2).from_collection([1, 2, 3, 4])
            >>> sorted(numbers.rebalance().map(lambda number: 10 * number).execute_and_collect())
            [10, 20, 30, 40]
        """
        return self._partitioned(RebalancePartitioner(), "rebalance")

    def forward(self) -> DataStream:
        """Send each record to the subtask of the sender's own index.

        Both operators must have the same parallelism; if not, `execute` raises
        `ForwardParallelismError`.

        Returns:
            The stream, partitioned.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key.
        """
        return self._partitioned(ForwardPartitioner(), "forward")

    @overload
    def broadcast(self) -> DataStream: ...
    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send each record to all subtasks.

        Args:
            broadcast_state_descriptor: Names a broadcast state that the records are to change, in a
                function of this stream and of another one. Default: none.
            *other_broadcast_state_descriptors: Name more of them.

        Returns:
            The stream, partitioned. If states are named, it can only be connected with another
            stream.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key, or the entries of a state
                are to expire.
            InvalidArgumentError: If a descriptor is no `MapStateDescriptor`, or two have one name.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment(parallelism=2).from_collection([1, 2])
            >>> sorted(numbers.broadcast().map(lambda number: number).execute_and_collect())
            [1, 1, 2, 2]
        """
        from penstock.datastream.broadcast_stream import BroadcastStream

        stream = self._partitioned(BroadcastPartitioner(), "broadcast")
        if broadcast_state_descriptor is None:
            return stream
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        return BroadcastStream(stream, descriptors)

    def global_(self) -> DataStream:
        """Send all records to the first subtask.

        Flink calls this `global`, which is no name in Python; PyFlink does not have it.

        Returns:
            The stream, partitioned.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key.
        """
        return self._partitioned(GlobalPartitioner(), "global_")

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> DataStream:
        """Send each record to the subtask that a function of the user chooses.

        Args:
            partitioner: Takes a key and the number of subtasks, and returns the index of one.
            key_selector: Computes the key of a record.

        Returns:
            The stream, partitioned.

        Raises:
            InvalidFunctionError: If one of the two cannot be called so.
            UnsupportedOperationError: If the stream is partitioned by key.

        Example:
            >>> from penstock.testing import local_environment
            >>> numbers = local_environment(parallelism=2).from_collection([1, 2, 3, 4])
            >>> spread = numbers.partition_custom(lambda key, n: key % n, lambda number: number)
            >>> sorted(spread.map(lambda number: number).execute_and_collect())
            [1, 2, 3, 4]
        """
        operation = "partition_custom()"
        partition = check_function(partitioner, "partition", 2, operation)
        key = check_function(key_selector, "get_key", 1, operation)
        return self._partitioned(
            CustomPartitioner(
                plain_callable(partition, "partition"), plain_callable(key, "get_key")
            ),
            "partition_custom",
        )
