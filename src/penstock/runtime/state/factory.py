"""Making the state backend that the configuration names."""

from __future__ import annotations

from collections.abc import Callable

from penstock.common.configuration.rocksdb_options import RocksDBSettings
from penstock.errors import InvalidConfigurationValueError
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.hashmap.hashmap_backend import HashMapKeyedStateBackend


def create_backend(
    kind: str,
    *,
    max_parallelism: int,
    key_groups: range,
    clock: Callable[[], int],
    directory: str | None = None,
    operator: str = "",
    memory: int | None = None,
    rocksdb: RocksDBSettings | None = None,
) -> KeyedStateBackend:
    """Return an empty state backend.

    Args:
        kind: `hashmap` or `rocksdb`.
        max_parallelism: The number of key groups of the operator.
        key_groups: Those that belong to the subtask.
        clock: Returns the processing time in milliseconds.
        directory: Where RocksDB has its files; None for the directory of temporary files.
        operator: The name of the operator, for messages.
        memory: How many bytes RocksDB may take for all states of the process; None for what suits the
            machine.
        rocksdb: How RocksDB is set up; None for RocksDB as it is.

    Raises:
        InvalidConfigurationValueError: If there is no such kind.
        RocksDBNotFoundError: If the kind is `rocksdb` and rocksdict is not installed.
        RocksDBFolderError: If RocksDB can have no files where it is to have them.

    Example:
        >>> from penstock.common import Types
        >>> from penstock.runtime.state.descriptors import ValueStateDescriptor
        >>> backend = create_backend(
        ...     "hashmap", max_parallelism=128, key_groups=range(128), clock=lambda: 0
        ... )
        >>> count = backend.get_state(ValueStateDescriptor("count", Types.LONG()))
        >>> backend.set_current_key("a")
        >>> count.update(1)
        >>> count.value()
        1
    """
    if kind == "hashmap":
        return HashMapKeyedStateBackend(
            max_parallelism=max_parallelism, key_groups=key_groups, clock=clock, operator=operator
        )
    if kind == "rocksdb":
        from penstock.runtime.state.rocksdb.rocksdb_backend import RocksDBKeyedStateBackend

        return RocksDBKeyedStateBackend(
            max_parallelism=max_parallelism,
            key_groups=key_groups,
            clock=clock,
            operator=operator,
            directory=directory,
            memory=memory,
            settings=rocksdb,
        )
    raise InvalidConfigurationValueError(
        f"There is no state backend {kind!r}.",
        hint="Set state.backend.type to hashmap or rocksdb.",
    )
