"""What can be configured of RocksDB. Keys and predefined values are Flink's; what is not set is as RocksDB has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.memory_size import MemorySize
from penstock.errors import InvalidConfigurationValueError

Count: TypeAlias = ConfigOption[int | None]
Size: TypeAlias = ConfigOption[MemorySize | None]
Flag: TypeAlias = ConfigOption[bool | None]

_PREFIX: Final = "state.backend.rocksdb."

LOCAL_DIRECTORIES: Final[ConfigOption[str | None]] = ConfigOption(
    f"{_PREFIX}localdir",
    str,
    None,
    "The folders for RocksDB's files, on the disks of the machines that work on state: absolute "
    "paths, separated by commas. Each process uses one of them. Default: the directory for "
    "temporary files.",
)
PREDEFINED_OPTIONS: Final = ConfigOption(
    f"{_PREFIX}predefined-options",
    str,
    "DEFAULT",
    "Values for several of the other keys at once; a key that you set yourself takes precedence.",
    choices=(
        "DEFAULT",
        "SPINNING_DISK_OPTIMIZED",
        "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
        "FLASH_SSD_OPTIMIZED",
    ),
)
OPTIONS_FACTORY: Final[ConfigOption[str | None]] = ConfigOption(
    f"{_PREFIX}options-factory",
    str,
    None,
    "The qualified name of a class derived from "
    "`penstock.datastream.state_backend.RocksDBOptionsFactory`, which can override all of "
    "RocksDB's options.",
)
MANAGED_MEMORY: Final = ConfigOption(
    f"{_PREFIX}memory.managed",
    bool,
    default=True,
    description="Whether RocksDB's blocks and write buffers share the memory for state. If not, "
    "`block.cache-size` and the sizes and counts of write buffers apply.",
)
FIXED_MEMORY: Final[Size] = ConfigOption(
    f"{_PREFIX}memory.fixed-per-slot",
    MemorySize,
    None,
    "How much memory state in RocksDB may take in each worker process. Default: "
    "`state.backend.memory.limit`.",
    minimum=4096,
)
WRITE_BUFFER_RATIO: Final = ConfigOption(
    f"{_PREFIX}memory.write-buffer-ratio",
    float,
    0.5,
    "The fraction of the memory for blocks that write buffers may take.",
    minimum=0.01,
    maximum=1,
)
PARTITIONED_INDEX_FILTERS: Final[Flag] = ConfigOption(
    f"{_PREFIX}memory.partitioned-index-filters",
    bool,
    None,
    "Whether indexes and filters are divided into blocks, so that parts of them can leave the "
    "memory. Default: false.",
)
BACKGROUND_THREADS: Final[Count] = ConfigOption(
    f"{_PREFIX}thread.num",
    int,
    None,
    "How many flushes and compactions run at once. Default: 2.",
    minimum=1,
)
OPEN_FILES: Final[Count] = ConfigOption(
    f"{_PREFIX}files.open",
    int,
    None,
    "How many files are kept open; -1 means all. Default: -1.",
    minimum=-1,
)
LOG_FILE_SIZE: Final[Size] = ConfigOption(
    f"{_PREFIX}log.max-file-size",
    MemorySize,
    None,
    "The largest size of one of RocksDB's own log files. Default: without limit.",
    minimum=0,
)
LOG_FILES: Final[Count] = ConfigOption(
    f"{_PREFIX}log.file-num",
    int,
    None,
    "How many of RocksDB's own log files are kept. Default: 1,000.",
    minimum=1,
)
LOG_DIRECTORY: Final[ConfigOption[str | None]] = ConfigOption(
    f"{_PREFIX}log.dir",
    str,
    None,
    "The folder of RocksDB's own log files. Default: that of its other files, with which they are "
    "deleted.",
)
COMPACTION_STYLE: Final[ConfigOption[str | None]] = ConfigOption(
    f"{_PREFIX}compaction.style",
    str,
    None,
    "How files are merged. Flink also has `FIFO`, which drops the oldest state; it is refused "
    "here. Default: LEVEL.",
    choices=("LEVEL", "UNIVERSAL", "NONE"),
)
DYNAMIC_LEVEL_SIZE: Final[Flag] = ConfigOption(
    f"{_PREFIX}compaction.level.use-dynamic-size",
    bool,
    None,
    "Whether the sizes of levels are derived from the size of the last one. Default: true; "
    "Flink's is false.",
)
TARGET_FILE_SIZE: Final[Size] = ConfigOption(
    f"{_PREFIX}compaction.level.target-file-size-base",
    MemorySize,
    None,
    "The largest size of a file of the first level. Default: 64 mb.",
    minimum=1,
)
LEVEL_SIZE: Final[Size] = ConfigOption(
    f"{_PREFIX}compaction.level.max-size-level-base",
    MemorySize,
    None,
    "The largest size of the first level. Default: 256 mb.",
    minimum=1,
)
COMPRESSION_PER_LEVEL: Final[ConfigOption[str | None]] = ConfigOption(
    f"{_PREFIX}compression.per.level",
    str,
    None,
    "How blocks are compressed: one for all levels, or one for each, separated by semicolons, of `NO_COMPRESSION`, "
    "`SNAPPY_COMPRESSION`, `ZLIB_COMPRESSION`, `BZLIB2_COMPRESSION`, `LZ4_COMPRESSION`, `LZ4HC_COMPRESSION`, "
    "`ZSTD_COMPRESSION`. Default: `SNAPPY_COMPRESSION`.",
)
WRITE_BUFFER_SIZE: Final[Size] = ConfigOption(
    f"{_PREFIX}writebuffer.size",
    MemorySize,
    None,
    "How much is collected in memory before it is written to a file. Default: a quarter of the "
    "memory for blocks, from 1 to 32 mb.",
    minimum=1,
)
WRITE_BUFFERS: Final[Count] = ConfigOption(
    f"{_PREFIX}writebuffer.count",
    int,
    None,
    "How many write buffers there are at most. Default: 2.",
    minimum=1,
)
WRITE_BUFFERS_TO_MERGE: Final[Count] = ConfigOption(
    f"{_PREFIX}writebuffer.number-to-merge",
    int,
    None,
    "How many write buffers are merged into one file. Default: 1.",
    minimum=1,
)
BLOCK_SIZE: Final[Size] = ConfigOption(
    f"{_PREFIX}block.blocksize",
    MemorySize,
    None,
    "The size of a block, which is read as a whole. Default: 4 kb.",
    minimum=1,
)
METADATA_BLOCK_SIZE: Final[Size] = ConfigOption(
    f"{_PREFIX}block.metadata-blocksize",
    MemorySize,
    None,
    "The size of the blocks of partitioned indexes and filters. Default: 4 kb.",
    minimum=1,
)
BLOCK_CACHE_SIZE: Final[Size] = ConfigOption(
    f"{_PREFIX}block.cache-size",
    MemorySize,
    None,
    "The memory for blocks if `memory.managed` is false. Default: 8 mb.",
    minimum=1,
)
BLOOM_FILTER: Final[Flag] = ConfigOption(
    f"{_PREFIX}use-bloom-filter",
    bool,
    None,
    "Whether files have Bloom filters, so that most files without a key are not searched for it. "
    "Default: false.",
)
BLOOM_FILTER_BITS: Final = ConfigOption(
    f"{_PREFIX}bloom-filter.bits-per-key",
    float,
    10.0,
    "How many bits a Bloom filter uses for each key.",
    minimum=1,
)
BLOOM_FILTER_OF_BLOCKS: Final = ConfigOption(
    f"{_PREFIX}bloom-filter.block-based-mode",
    bool,
    default=False,
    description="Whether Bloom filters are per block instead of per file. RocksDB no longer "
    "supports this, and makes them per file.",
)

_SPINNING_DISK: Final = {
    BACKGROUND_THREADS.key: 4,
    OPEN_FILES.key: -1,
    COMPACTION_STYLE.key: "LEVEL",
    DYNAMIC_LEVEL_SIZE.key: True,
}
_PREDEFINED: Final[Mapping[str, Mapping[str, Any]]] = {
    "DEFAULT": {},
    "SPINNING_DISK_OPTIMIZED": _SPINNING_DISK,
    "SPINNING_DISK_OPTIMIZED_HIGH_MEM": _SPINNING_DISK
    | {
        TARGET_FILE_SIZE.key: MemorySize.parse("256 mb"),
        LEVEL_SIZE.key: MemorySize.parse("1 gb"),
        WRITE_BUFFER_SIZE.key: MemorySize.parse("64 mb"),
        WRITE_BUFFERS.key: 4,
        WRITE_BUFFERS_TO_MERGE.key: 3,
        BLOCK_CACHE_SIZE.key: MemorySize.parse("256 mb"),
        BLOCK_SIZE.key: MemorySize.parse("128 kb"),
        BLOOM_FILTER.key: True,
    },
    "FLASH_SSD_OPTIMIZED": {BACKGROUND_THREADS.key: 4, OPEN_FILES.key: -1},
}
COMPRESSIONS: Final[Mapping[str, str]] = {
    "NO_COMPRESSION": "none",
    "SNAPPY_COMPRESSION": "snappy",
    "ZLIB_COMPRESSION": "zlib",
    "BZLIB2_COMPRESSION": "bz2",
    "LZ4_COMPRESSION": "lz4",
    "LZ4HC_COMPRESSION": "lz4hc",
    "ZSTD_COMPRESSION": "zstd",
}
"""What rocksdict calls the compressions, by Flink's names for them."""


class RocksDBSettings(NamedTuple):
    """How databases are set up.

    Attributes:
        values: The options that are set, by their keys. Sizes are numbers of bytes.
        directories: Where databases may lie; empty for the directory of temporary files.
        factory: The class whose objects have the last word, pickled with its code; None if there is none.
    """

    values: tuple[tuple[str, Any], ...] = ()
    directories: tuple[str, ...] = ()
    factory: bytes | None = None

    def get(self, option: ConfigOption[Any]) -> Any:
        """Return the value of an option, or its default; sizes as numbers of bytes."""
        return dict(self.values).get(option.key, option.default)


class Settings(Protocol):
    """What can be asked for options, as a `Configuration` can."""

    def get(self, option: ConfigOption[Any]) -> Any:
        """Return the value of an option, or its default."""

    def contains_key(self, key: str) -> bool:
        """Tell whether a key is set."""
        ...


def settings_in(configuration: Settings, factory: bytes | None = None) -> RocksDBSettings:
    """Return what a configuration says of RocksDB: single keys before what is predefined.

    Args:
        configuration: The configuration.
        factory: The class that `state.backend.rocksdb.options-factory` names, pickled with its code.

    Raises:
        InvalidConfigurationValueError: If a folder is no whole path, or there is no such compression.
    """
    values = dict(_PREDEFINED[configuration.get(PREDEFINED_OPTIONS)])
    for option in globals().values():
        if isinstance(option, ConfigOption) and configuration.contains_key(option.key):
            values[option.key] = configuration.get(option)
    for chosen in (LOCAL_DIRECTORIES, PREDEFINED_OPTIONS, OPTIONS_FACTORY):
        values.pop(chosen.key, None)
    if COMPRESSION_PER_LEVEL.key in values:
        values[COMPRESSION_PER_LEVEL.key] = _compressions(values[COMPRESSION_PER_LEVEL.key])
    return RocksDBSettings(
        tuple((key, _plain(value)) for key, value in sorted(values.items())),
        directories_in(configuration.get(LOCAL_DIRECTORIES) or ""),
        factory,
    )


def directories_in(text: str) -> tuple[str, ...]:
    """Return the folders of `state.backend.rocksdb.localdir`: separated by commas, or by colons as in Flink.

    Raises:
        InvalidConfigurationValueError: If one is no whole path.
    """
    found = tuple(part.strip() for part in re.split(r",|:(?!//)", text) if part.strip())
    return tuple(_path(directory) for directory in found)


def _path(directory: str) -> str:
    parts = urlsplit(directory)
    path = unquote(parts.path) if parts.scheme == "file" else directory
    if not path.startswith("/"):
        raise InvalidConfigurationValueError(
            f"{directory!r} is no folder for RocksDB's files.",
            hint="Give whole paths, such as /mnt/disk1/state.",
        )
    return path.rstrip("/") or "/"


def _compressions(text: str) -> tuple[str, ...]:
    found = tuple(part.strip().upper() for part in text.split(";") if part.strip())
    for name in found:
        if name not in COMPRESSIONS:
            raise InvalidConfigurationValueError(
                f"{name!r} in {COMPRESSION_PER_LEVEL.key!r} is no compression of RocksDB.",
                hint=f"Give one of {', '.join(COMPRESSIONS)}, or several separated by semicolons.",
            )
    return found


def _plain(value: Any) -> Any:
    return value.get_bytes() if isinstance(value, MemorySize) else value
