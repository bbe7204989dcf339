"""RocksDB's own options, made of a job's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from penstock.common.configuration import rocksdb_options as keys
from penstock.common.configuration.rocksdb_options import RocksDBSettings
from penstock.errors import RocksDBOptionsError
from penstock.runtime.job_pickle import load_code

if TYPE_CHECKING:
    from rocksdict import BlockBasedOptions, Cache, Options

_WRITE_BUFFER: Final = 32 << 20
_LEAST_WRITE_BUFFER: Final = 1 << 20
_MOST_BLOCKS: Final = 512 << 20
_LEAST_BLOCKS: Final = 8 << 20


def create_options(memory: int, settings: RocksDBSettings) -> tuple[Options, Cache]:
    """Return the options of a database, and the cache that they have it use.

    Args:
        memory: How many bytes state may take in memory. Half of them are for blocks, and of that half for what
            is yet to be written, unless the settings say otherwise.
        settings: The job's.

    Raises:
        RocksDBOptionsError: If the user's factory fails.
    """
    from rocksdict import BlockBasedOptions, Cache, Options

    options = Options(raw_mode=True)
    # The database is new, and goes with its files when it is closed.
    options.set_max_file_opening_threads(1)
    blocks = BlockBasedOptions()
    if settings.get(keys.MANAGED_MEMORY):
        cache = _share_memory(options, memory, settings.get(keys.WRITE_BUFFER_RATIO))
    else:
        cache = Cache(settings.get(keys.BLOCK_CACHE_SIZE) or _LEAST_BLOCKS)
    blocks.set_block_cache(cache)
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(True)
    for key, value in settings.values:
        if key in _DATABASE:
            _DATABASE[key](options, value)
    set_block_options(blocks, settings)
    if settings.factory is not None:
        _ask(settings.factory, options, blocks)
    options.set_block_based_table_factory(blocks)
    return options, cache


def _ask(factory: bytes, options: Options, blocks: BlockBasedOptions) -> None:
    """Let the user's factory change the options."""
    made = load_code(factory)
    try:
        made().configure(options, blocks)
    except Exception as error:
        raise RocksDBOptionsError(
            f"The options factory {made.__qualname__} of RocksDB raised {type(error).__name__}: {error}.",
            hint="See its traceback above, and rocksdict.Options for what can be set.",
        ) from error


def _share_memory(options: Options, memory: int, ratio: float) -> Cache:
    from rocksdict import Cache, WriteBufferManager

    size = max(_LEAST_BLOCKS, min(_MOST_BLOCKS, memory // 2))
    cache, unwritten = Cache(size), int(size * ratio)
    buffers = WriteBufferManager.new_write_buffer_manager_with_cache(
        unwritten, allow_stall=False, cache=cache
    )
    options.set_write_buffer_manager(buffers)
    options.set_write_buffer_size(max(_LEAST_WRITE_BUFFER, min(_WRITE_BUFFER, unwritten // 2)))
    return cache


def _set_compaction_style(options: Options, style: str) -> None:
    from rocksdict import DBCompactionStyle

    if style == "NONE":
        options.set_disable_auto_compactions(True)
    else:
        options.set_compaction_style(getattr(DBCompactionStyle, style.lower())())


def _set_compression(options: Options, names: tuple[str, ...]) -> None:
    from rocksdict import DBCompressionType

    types = [getattr(DBCompressionType, keys.COMPRESSIONS[name])() for name in names]
    if len(types) == 1:
        options.set_compression_type(types[0])
    elif types:
        options.set_compression_per_level(types)


_DATABASE: Final[Mapping[str, Callable[[Options, Any], None]]] = {
    keys.BACKGROUND_THREADS.key: lambda options, count: options.set_max_background_jobs(count),
    keys.OPEN_FILES.key: lambda options, count: options.set_max_open_files(count),
    keys.LOG_FILE_SIZE.key: lambda options, size: options.set_max_log_file_size(size),
    keys.LOG_FILES.key: lambda options, count: options.set_keep_log_file_num(count),
    keys.LOG_DIRECTORY.key: lambda options, path: options.set_db_log_dir(path),
    keys.COMPACTION_STYLE.key: _set_compaction_style,
    keys.DYNAMIC_LEVEL_SIZE.key: lambda options, on: (
        options.set_level_compaction_dynamic_level_bytes(on)
    ),
    keys.TARGET_FILE_SIZE.key: lambda options, size: options.set_target_file_size_base(size),
    keys.LEVEL_SIZE.key: lambda options, size: options.set_max_bytes_for_level_base(size),
    keys.COMPRESSION_PER_LEVEL.key: _set_compression,
    keys.WRITE_BUFFER_SIZE.key: lambda options, size: options.set_write_buffer_size(size),
    keys.WRITE_BUFFERS.key: lambda options, count: options.set_max_write_buffer_number(count),
    keys.WRITE_BUFFERS_TO_MERGE.key: lambda options, count: (
        options.set_min_write_buffer_number_to_merge(count)
    ),
}


def set_block_options(blocks: BlockBasedOptions, settings: RocksDBSettings) -> None:
    """Set how files are made of blocks."""
    from rocksdict import BlockBasedIndexType

    size, metadata_size = settings.get(keys.BLOCK_SIZE), settings.get(keys.METADATA_BLOCK_SIZE)
    if size is not None:
        blocks.set_block_size(size)
    if metadata_size is not None:
        blocks.set_metadata_block_size(metadata_size)
    if settings.get(keys.BLOOM_FILTER):
        bits = settings.get(keys.BLOOM_FILTER_BITS)
        blocks.set_bloom_filter(bits, settings.get(keys.BLOOM_FILTER_OF_BLOCKS))
    if settings.get(keys.PARTITIONED_INDEX_FILTERS):
        blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
        blocks.set_partition_filters(True)
        blocks.set_pin_top_level_index_and_filter(True)
