"""How the records of a stream go to the subtasks of the next operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

from penstock.datastream.functions.function_checks import check_function, plain_callable
from penstock.datastream.functions.one_input import KeySelector, Partitioner
from penstock.datastream.streams.base_stream import BaseStream
from penstock.runtime.exchange.partitioners import (
    CustomPartitioner,
    ForwardPartitioner,
    GlobalPartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
    StreamPartitioner,
)


class Partitioning(BaseStream, ABC):
    """The ways in which the records of a stream go to the subtasks of the next operator.

    If none is chosen, records are forwarded where both operators have the same parallelism, and
    rebalanced elsewhere.
    """

    @abstractmethod
    def _partitioned(self, partitioner: StreamPartitioner, method: str) -> Self:
        """Return the same stream, partitioned."""

    def shuffle(self) -> Self:
        """Send each record to a random subtask.

        Returns:
            The stream, partitioned.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key.
        """
        return self._partitioned(ShufflePartitioner(), "shuffle")

    def rescale(self) -> Self:
        """Send records in turn to those subtasks that lie beside the sender's own index.

        With 2 senders and 4 receivers each sender serves 2 of them; with 4 and 2, each receiver has
        2 senders.

        Returns:
            The stream, partitioned.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key.
        """
        return self._partitioned(RescalePartitioner(), "rescale")

    def rebalance(self) -> Self:
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

    def forward(self) -> Self:
        """Send each record to the subtask of the sender's own index.

        Both operators must have the same parallelism; if not, `execute` raises
        `ForwardParallelismError`.

        Returns:
            The stream, partitioned.

        Raises:
            UnsupportedOperationError: If the stream is partitioned by key.
        """
        return self._partitioned(ForwardPartitioner(), "forward")

    def global_(self) -> Self:
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
    ) -> Self:
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
