"""Where keyed state lives while a job runs."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["EmbeddedRocksDBStateBackend", "HashMapStateBackend", "StateBackend"]


class StateBackend:
    """Where keyed state lives while a job runs. See `StreamExecutionEnvironment.set_state_backend`.

    Attributes:
        kind: The value of `state.backend.type` that says the same.
    """

    kind: ClassVar[str]


class HashMapStateBackend(StateBackend):
    """Keeps state in memory: fast, and limited by it."""

    kind = "hashmap"


class EmbeddedRocksDBStateBackend(StateBackend):
    """Keeps state in RocksDB, on the local disk of whoever works on it: it may be larger than memory.

    Needs the package rocksdict: `pip install 'penstock[rocksdb]'`.
    """

    kind = "rocksdb"
