"""Where keyed state lives while a job runs."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from penstock.common.configuration import Configuration
from penstock.common.configuration.options import STATE_BACKEND
from penstock.common.configuration.options_without_effect import INCREMENTAL_CHECKPOINTS
from penstock.common.configuration.rocksdb_options import (
    LOCAL_DIRECTORIES,
    OPTIONS_FACTORY,
    PREDEFINED_OPTIONS,
    directories_in,
)
from penstock.errors import InvalidArgumentError, NotAvailableFromPythonError
from penstock.graph.unpicklable import pickle_by_value

if TYPE_CHECKING:
    from rocksdict import BlockBasedOptions, Options

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "RocksDBOptionsFactory",
    "StateBackend",
]

_TRANSFER_THREADS: Final = 4


class StateBackend:
    """Where keyed state lives while a job runs. See `StreamExecutionEnvironment.set_state_backend`.

    Attributes:
        kind: The value of `state.backend.type` that says the same.
    """

    kind: ClassVar[str]

    def configuration(self) -> Configuration:
        """Return the settings that say the same as this object.

        Example:
            >>> HashMapStateBackend().configuration()
            Configuration({'state.backend.type': 'hashmap'})
        """
        return Configuration().set(STATE_BACKEND, self.kind)

    def __str__(self) -> str:
        return f"{type(self).__name__}()"


class HashMapStateBackend(StateBackend):
    """Keeps state in memory: fast, and limited by it."""

    kind = "hashmap"


class PredefinedOptions(Enum):
    """Options of RocksDB that go together. The keys that they stand for begin with `state.backend.rocksdb.`.

    Attributes:
        DEFAULT: None.
        SPINNING_DISK_OPTIMIZED: For hard disks: `thread.num` 4, `files.open` -1, `compaction.style` LEVEL,
            `compaction.level.use-dynamic-size` true.
        SPINNING_DISK_OPTIMIZED_HIGH_MEM: The same with large buffers, files and blocks: also `writebuffer.size` 64 mb,
            `writebuffer.count` 4, `writebuffer.number-to-merge` 3, `compaction.level.target-file-size-base` 256 mb,
            `compaction.level.max-size-level-base` 1 gb, `block.blocksize` 128 kb, `use-bloom-filter` true, and, if
            `memory.managed` is false, `block.cache-size` 256 mb.
        FLASH_SSD_OPTIMIZED: For solid state disks: `thread.num` 4, `files.open` -1.
    """

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class RocksDBOptionsFactory(ABC):
    """What has the last word on RocksDB's options: derive a class from it, and name it in `set_options`.

    It is made without arguments, in each process that opens a database.

    Example:
        >>> class Checked(RocksDBOptionsFactory):
        ...     def configure(self, options, blocks):
        ...         options.set_paranoid_checks(True)
        ...         blocks.set_block_size(16 << 10)
    """

    @abstractmethod
    def configure(self, options: Options, blocks: BlockBasedOptions) -> None:
        """Change the options of a database that is about to be opened.

        Args:
            options: The `rocksdict.Options`, with all that the configuration says set.
            blocks: The `rocksdict.BlockBasedOptions` of its files, likewise.
        """


class EmbeddedRocksDBStateBackend(StateBackend):
    """Keeps state in RocksDB, on the local disk of whoever works on it: it may be larger than memory.

    Needs the package rocksdict: `pip install 'penstock[rocksdb]'`. What is set here precedes what the configuration says
    under `state.backend.rocksdb`; what is not set here is the configuration's.

    Args:
        enable_incremental_checkpointing: Accepted, so that a PyFlink program runs unchanged, and without effect: an
            epoch writes what changed. Default: what `execution.checkpointing.incremental` says.

    Raises:
        InvalidArgumentError: If `enable_incremental_checkpointing` is neither a bool nor None.

    Example:
        >>> backend = EmbeddedRocksDBStateBackend()
        >>> backend.set_db_storage_paths("/mnt/disk1/state", "/mnt/disk2/state")
        >>> backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
        >>> backend.get_db_storage_paths()
        ['/mnt/disk1/state', '/mnt/disk2/state']
    """

    kind = "rocksdb"

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise InvalidArgumentError(
                f"enable_incremental_checkpointing is {enable_incremental_checkpointing!r}.",
                hint="Give True, False, or None.",
            )
        self._settings = Configuration()
        if enable_incremental_checkpointing is not None:
            self._settings.set(INCREMENTAL_CHECKPOINTS, enable_incremental_checkpointing)
        self._transfer_threads = _TRANSFER_THREADS

    def configuration(self) -> Configuration:
        """Return the settings that say the same as this object."""
        return super().configuration().add_all(self._settings)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the folders for RocksDB's files. They need not last: durable is what epochs write.

        Args:
            *paths: Whole paths, on the disks of the machines that work on state. Each process takes one of them. None
                at all, or None, stands for the directory of temporary files.

        Raises:
            InvalidArgumentError: If one is no whole path.
        """
        given = [path for path in paths if path is not None]
        for path in given:
            if "," in path:
                raise InvalidArgumentError(
                    f"The path {path!r} has a comma, which separates paths in the configuration.",
                    hint="Give each path by itself.",
                )
        self._settings.set(LOCAL_DIRECTORIES, ",".join(directories_in(",".join(given))) or None)

    def get_db_storage_paths(self) -> list[str]:
        """Return the folders that were set; an empty list if there are none."""
        return list(directories_in(self._settings.get(LOCAL_DIRECTORIES) or ""))

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return what the constructor was given; False if that was nothing."""
        return self._settings.get(INCREMENTAL_CHECKPOINTS)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Set options of RocksDB that go together. Those that the configuration sets one by one precede them.

        Args:
            options: Which.

        Raises:
            InvalidArgumentError: If it is no `PredefinedOptions`.
        """
        if not isinstance(options, PredefinedOptions):
            raise InvalidArgumentError(
                f"{options!r} is no PredefinedOptions.",
                hint=f"Give one of {', '.join(str(option) for option in PredefinedOptions)}.",
            )
        self._settings.set(PREDEFINED_OPTIONS, options.name)

    def get_predefined_options(self) -> PredefinedOptions:
        """Return what `set_predefined_options` was given. Default: `PredefinedOptions.DEFAULT`."""
        return PredefinedOptions[self._settings.get(PREDEFINED_OPTIONS)]

    def set_options(self, options_factory_class_name: str) -> None:
        """Set what has the last word on RocksDB's options.

        Args:
            options_factory_class_name: The qualified name of a Python class derived from `RocksDBOptionsFactory`, such
                as `shop.state.Checked`. In Flink it is one of Java.

        Raises:
            InvalidArgumentError: If there is no such class.
        """
        _options_factory(options_factory_class_name)
        self._settings.set(OPTIONS_FACTORY, options_factory_class_name)

    def get_options(self) -> str | None:
        """Return what `set_options` was given; None if it was not called."""
        return self._settings.get(OPTIONS_FACTORY)

    def get_number_of_transfer_threads(self) -> int:
        """Return what `set_number_of_transfer_threads` was given. Default: 4."""
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Accepted, so that a PyFlink program runs unchanged, and without effect: subtasks read state side by side.

        Args:
            number_of_transfering_threads: At least 1.

        Raises:
            InvalidArgumentError: If it is less than 1.
        """
        if number_of_transfering_threads < 1:
            raise InvalidArgumentError(
                f"The number of transfer threads is {number_of_transfering_threads}.",
                hint="Give at least 1.",
            )
        self._transfer_threads = number_of_transfering_threads

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._settings.to_dict()})"


class CustomStateBackend(StateBackend):
    """PyFlink's wrapper of a state backend that is written in Java. There is none here.

    Raises:
        NotAvailableFromPythonError: Always.
    """

    def __init__(self, j_custom_state_backend: Any) -> NoReturn:
        raise NotAvailableFromPythonError(
            f"CustomStateBackend was given {j_custom_state_backend!r}, and no state backend of Java runs here.",
            hint="Use HashMapStateBackend(), or EmbeddedRocksDBStateBackend().",
        )


def pickled_options_factory(name: str) -> bytes:
    """Return the class of a qualified name, pickled with its code if no worker could import it.

    Raises:
        InvalidArgumentError: If there is none, or it is not derived from `RocksDBOptionsFactory`.
        FunctionNotSerializableError: If it cannot be pickled.
    """
    return pickle_by_value(_options_factory(name), f"The options factory {name}")


def _options_factory(name: str) -> type[RocksDBOptionsFactory]:
    """Return the class of a qualified name.

    Raises:
        InvalidArgumentError: If there is none, or it is not derived from `RocksDBOptionsFactory`.
    """
    module, _, qualified_name = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), qualified_name)  # noqa: TID251 - the user names it
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(
            f"There is no Python class {name!r}: {error}.",
            hint="Give the qualified name of one that is derived from RocksDBOptionsFactory, such as "
            "'shop.state.Checked'.",
        ) from error
    if not (isinstance(found, type) and issubclass(found, RocksDBOptionsFactory)):
        raise InvalidArgumentError(
            f"{name!r} does not implement RocksDBOptionsFactory.",
            hint="Derive it from penstock.datastream.state_backend.RocksDBOptionsFactory.",
        )
    return found
